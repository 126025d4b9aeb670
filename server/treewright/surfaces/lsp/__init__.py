"""The language server: translates the editor protocol to the facade and back, holds no rules."""
