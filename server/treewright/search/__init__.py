"""The code-branch search engine."""
