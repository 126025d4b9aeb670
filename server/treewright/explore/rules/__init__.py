"""The rules that bind a node's body: one module a rule, its docstring is its manual page."""
