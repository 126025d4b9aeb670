"""Providers of language models, and tolerant parsing of what they return."""
