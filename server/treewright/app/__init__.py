"""The facade that every surface calls, and the services it is made of."""
