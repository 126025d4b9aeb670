"""The offline performer of code-audit: findings from established facts, no model (contract: exploration, 10)."""
