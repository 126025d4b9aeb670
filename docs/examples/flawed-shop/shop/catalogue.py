"""Looking for products."""

from flask import Blueprint, abort, jsonify, request

from shop.db import database

catalogue = Blueprint("catalogue", __name__)

SORTABLE = {"name": "name", "price": "price", "newest": "id DESC"}


@catalogue.get("/search")
def search():
    words = request.args.get("q", "")
    rows = database().execute(f"SELECT id, name, price FROM products WHERE name LIKE '%{words}%'")
    return jsonify([dict(row) for row in rows])


@catalogue.get("/category/<name>")
def by_category(name):
    order = SORTABLE.get(request.args.get("sort", "name"))
    if order is None:
        abort(400)
    rows = database().execute(f"SELECT id, name, price FROM products WHERE category = ? ORDER BY {order}", (name,))
    return jsonify([dict(row) for row in rows])


@catalogue.get("/products/<int:number>")
def product(number):
    row = database().execute("SELECT * FROM products WHERE id = ?", (number,)).fetchone()
    if row is None:
        abort(404)
    return jsonify(dict(row))


def similar(products):
    """Return the pairs of products that share a category."""
    pairs = []
    for left in products:
        for right in products:
            if left["id"] < right["id"] and left["category"] == right["category"]:
                if (left["id"], right["id"]) not in pairs:
                    pairs.append((left["id"], right["id"]))
    return pairs


def by_first_letter(products):
    """Return products grouped by the first letter of their name."""
    groups = {}
    for entry in products:
        groups.setdefault(entry["name"][:1].upper(), []).append(entry)
    return groups
