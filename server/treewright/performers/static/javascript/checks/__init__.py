"""Structural checks: one small function each, by the kind of node they look at."""
