"""One SQLite connection for each request."""

import sqlite3

from flask import g

from shop import config

SCHEMA = """
CREATE TABLE IF NOT EXISTS products (id INTEGER PRIMARY KEY, name TEXT, category TEXT, price INTEGER, stock INTEGER);
CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, password TEXT, salt BLOB, is_admin INTEGER DEFAULT 0, token TEXT);
CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, user TEXT, product INTEGER, amount INTEGER, placed TEXT);
"""


def connect(path):
    """Open the database at `path`, making its tables when they are missing."""
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    connection.executescript(SCHEMA)
    return connection


def database():
    """Return the connection of the request at hand."""
    if "database" not in g:
        g.database = connect(config.DATABASE)
    return g.database


def close(_error=None):
    connection = g.pop("database", None)
    if connection is not None:
        connection.close()
