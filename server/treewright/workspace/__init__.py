"""Reading the user's code: files, git, citations, anchors."""
