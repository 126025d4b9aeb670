"""`shop`: chores on the command line."""

import argparse
import csv

from shop import config, db


def load(path):
    """Load products from a CSV file; return how many there were."""
    connection = db.connect(config.DATABASE)
    with open(path, newline="", encoding="utf-8") as handle, connection:
        rows = [(row["name"], row["category"], int(row["price"]), int(row["stock"])) for row in csv.DictReader(handle)]
        connection.executemany("INSERT INTO products (name, category, price, stock) VALUES (?, ?, ?, ?)", rows)
    connection.close()
    return len(rows)


def notes(path):
    """Return the lines of a notes file that are no comments."""
    return [line for line in open(path).read().splitlines() if not line.startswith("#")]


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="shop", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("load", "notes"):
        commands.add_parser(name).add_argument("path")
    given = parser.parse_args(arguments)
    if given.command == "load":
        print(f"{load(given.path)} products loaded")
    else:
        print("\n".join(notes(given.path)))


if __name__ == "__main__":
    main()
