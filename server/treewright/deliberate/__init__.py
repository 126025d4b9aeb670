"""The deliberation engine: sessions walked through stages."""
