"""Our own messages: the one schema of both sides."""
