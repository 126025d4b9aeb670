"""JavaScript and TypeScript: parsing by tree-sitter, data flow, structural checks, proven edits."""
