"""What a tree is: nodes, events, citations, runs; pure."""
