"""What the language server does, one file a family of requests."""
