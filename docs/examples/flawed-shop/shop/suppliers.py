"""Price lists that suppliers send in, and pictures that they link to."""

import os
import shlex
import subprocess

import yaml
from flask import Blueprint, abort, jsonify, request

from shop import config
from shop.db import database

suppliers = Blueprint("suppliers", __name__)


@suppliers.post("/suppliers/prices")
def prices():
    listed = yaml.load(request.get_data(), Loader=yaml.Loader)
    return jsonify(update(database(), listed))


@suppliers.post("/suppliers/stock")
def stock():
    listed = yaml.safe_load(request.get_data())
    return jsonify(update(database(), listed))


def update(connection, listed):
    """Store what a supplier listed; return how many products were known."""
    known = 0
    with connection:
        for entry in listed:
            done = connection.execute(
                "UPDATE products SET price = ?, stock = ? WHERE id = ?",
                (entry["price"], entry["stock"], entry["id"]),
            )
            known += done.rowcount
    return known


@suppliers.post("/suppliers/thumbnail")
def thumbnail():
    name, size = request.form["name"], request.form.get("size", "200")
    os.system(f"convert {config.MEDIA}/pictures/{name} -resize {size} {config.MEDIA}/thumbnails/{name}")
    return "", 204


@suppliers.post("/suppliers/rotate")
def rotate():
    name = os.path.basename(request.form["name"])
    if not name.endswith((".png", ".jpg")):
        abort(400)
    path = config.MEDIA / "pictures" / name
    subprocess.run(["convert", str(path), "-rotate", "90", str(path)], check=True, timeout=30)
    return "", 204


def archive(folder):
    """Pack a supplier's folder; called with the name that was typed into the archive page."""
    return subprocess.run(f"tar czf archive.tgz {folder}", shell=True, check=False).returncode


def unpack(folder):
    """List a supplier's packed folder."""
    return subprocess.run(f"tar tzf {shlex.quote(folder)}", shell=True, check=False).returncode


@suppliers.post("/suppliers/archive")
def archive_page():
    return jsonify(status=archive(request.form["folder"]))


@suppliers.get("/suppliers/archive")
def archive_contents():
    return jsonify(status=unpack(request.args["folder"]))
