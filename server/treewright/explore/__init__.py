"""The exploration engine: a pure state machine from events and results to tasks and events."""
