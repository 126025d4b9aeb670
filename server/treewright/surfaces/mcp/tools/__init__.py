"""What each tool does, one file a group."""
