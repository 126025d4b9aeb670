"""Presets, field profiles and framings: schema, loader, validator."""
