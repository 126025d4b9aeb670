"""Journal, documents, index, locks, configuration, ledger: everything kept on disk."""
