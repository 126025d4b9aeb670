"""Signing up and in, and what administrators may do."""

import hashlib
import hmac
import os
import random
import secrets
import string

from flask import Blueprint, abort, jsonify, request, session

from shop.db import database

accounts = Blueprint("accounts", __name__)


def password_digest(password):
    """Return what is stored of a password."""
    return hashlib.md5(password.encode("utf-8")).hexdigest()


def api_key_digest(key, salt):
    """Return what is stored of an API key."""
    return hashlib.scrypt(key.encode("utf-8"), salt=salt, n=2**14, r=8, p=1).hex()


def cache_tag(text):
    """Return a short tag that changes whenever a page does."""
    return hashlib.md5(text.encode("utf-8"), usedforsecurity=False).hexdigest()[:8]


def reset_token():
    """Return the token of a password-reset mail."""
    return "".join(random.choice(string.ascii_letters + string.digits) for _ in range(24))


def session_token():
    """Return the token of a new session."""
    return secrets.token_hex(32)


def greeting():
    """Return today's greeting on the start page."""
    return random.choice(["Welcome", "Hello", "Good to see you"])


@accounts.post("/signup")
def sign_up():
    name, password = request.form["name"], request.form["password"]
    database().execute(
        "INSERT INTO users (name, password, salt, token) VALUES (?, ?, ?, ?)",
        (name, password_digest(password), os.urandom(16), session_token()),
    )
    database().commit()
    return jsonify(name=name), 201


@accounts.post("/signin")
def sign_in():
    row = database().execute("SELECT * FROM users WHERE name = ?", (request.form["name"],)).fetchone()
    if row is None or not hmac.compare_digest(row["password"], password_digest(request.form["password"])):
        abort(401)
    session["user"] = row["name"]
    session["is_admin"] = bool(row["is_admin"])
    return jsonify(name=row["name"])


@accounts.post("/reset")
def ask_for_reset():
    token = reset_token()
    database().execute("UPDATE users SET token = ? WHERE name = ?", (token, request.form["name"]))
    database().commit()
    return "", 204


@accounts.delete("/users/<name>")
def remove_user(name):
    assert session.get("is_admin"), "only administrators remove users"
    database().execute("DELETE FROM users WHERE name = ?", (name,))
    database().commit()
    return "", 204


@accounts.get("/users")
def list_users():
    if not session.get("is_admin"):
        abort(403)
    return jsonify([row["name"] for row in database().execute("SELECT name FROM users")])
