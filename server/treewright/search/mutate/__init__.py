"""Systematic edits of a program's syntax tree, one operator family a module."""
