"""A small online shop: catalogue, accounts, orders, shipping and exports."""
