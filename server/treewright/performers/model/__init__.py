"""Fills tasks in with a language model behind a provider: one framing, one node, the fields due, in calls that fit small contexts."""
