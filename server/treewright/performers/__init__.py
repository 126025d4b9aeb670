"""Whoever fills tasks in."""
