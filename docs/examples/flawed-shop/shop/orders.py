"""Carts and orders."""

import base64
import json
import pickle
from datetime import datetime, timedelta, timezone

from flask import Blueprint, abort, jsonify, request, session

from shop.db import database

orders = Blueprint("orders", __name__)

RETURN_DAYS = 14


@orders.get("/cart")
def cart():
    raw = request.cookies.get("cart")
    lines = pickle.loads(base64.b64decode(raw)) if raw else []
    return jsonify(lines)


@orders.get("/wishlist")
def wishlist():
    raw = request.cookies.get("wishlist")
    lines = json.loads(base64.b64decode(raw)) if raw else []
    return jsonify(lines)


def place(connection, user, product, amount):
    """Place an order; return its number, or None when too little is in stock."""
    stock = connection.execute("SELECT stock FROM products WHERE id = ?", (product,)).fetchone()["stock"]
    if stock < amount:
        return None
    connection.execute("UPDATE products SET stock = ? WHERE id = ?", (stock - amount, product))
    done = connection.execute(
        "INSERT INTO orders (user, product, amount, placed) VALUES (?, ?, ?, ?)",
        (user, product, amount, datetime.now().isoformat()),
    )
    connection.commit()
    return done.lastrowid


def cancel(connection, number):
    """Cancel an order and put its goods back; return whether there was one."""
    with connection:
        row = connection.execute("DELETE FROM orders WHERE id = ? RETURNING product, amount", (number,)).fetchone()
        if row is not None:
            connection.execute(
                "UPDATE products SET stock = stock + ? WHERE id = ?", (row["amount"], row["product"])
            )
    return row is not None


def may_be_returned(placed):
    """Say whether an order may still be sent back."""
    return datetime.utcnow() - datetime.fromisoformat(placed) < timedelta(days=RETURN_DAYS)


def invoice_date():
    """Return the date that goes on an invoice."""
    return datetime.now(timezone.utc).date().isoformat()


def totals(lines, sums={}):
    """Return the amount ordered of each product."""
    for line in lines:
        sums[line["product"]] = sums.get(line["product"], 0) + line["amount"]
    return sums


def prices(lines, known=None):
    """Return the price of each product in the lines."""
    known = {} if known is None else known
    for line in lines:
        known.setdefault(line["product"], line["price"])
    return known


@orders.post("/orders")
def order():
    if "user" not in session:
        abort(401)
    number = place(database(), session["user"], int(request.form["product"]), int(request.form["amount"]))
    if number is None:
        abort(409)
    return jsonify(number=number), 201
