"""Structural rules that need code: one function a pattern, registered by the node type it looks at."""
