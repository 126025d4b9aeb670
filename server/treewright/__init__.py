"""Treewright grows trees of thought you can check."""

__version__ = "0.1.0"
