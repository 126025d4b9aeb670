"""Surfaces translate a protocol to the facade and back."""
