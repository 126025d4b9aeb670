"""What a run puts out: Markdown, JSON, pictures and SARIF, as pure functions of a tree and its bodies."""
