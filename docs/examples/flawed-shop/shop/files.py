"""Pictures, manuals and exports."""

import csv
import json
import os
import tempfile

from flask import Blueprint, abort, request, send_file

from shop import config
from shop.db import database

files = Blueprint("files", __name__)


@files.get("/manuals")
def manual():
    name = request.args["name"]
    path = os.path.join(config.MEDIA, "manuals", name)
    if not os.path.exists(path):
        abort(404)
    return send_file(path)


@files.get("/pictures")
def picture():
    folder = config.MEDIA / "pictures"
    path = (folder / request.args["name"]).resolve()
    if not path.is_relative_to(folder) or not path.is_file():
        abort(404)
    return send_file(path)


@files.get("/export")
def export():
    kind = request.args.get("format", "csv")
    if kind not in config.EXPORT_FORMATS:
        abort(400)
    rows = [dict(row) for row in database().execute("SELECT * FROM products")]
    path = write_csv(rows) if kind == "csv" else write_json(rows)
    return send_file(path)


def write_csv(rows):
    """Write rows to a temporary CSV file and return its path."""
    path = tempfile.mktemp(suffix=".csv")
    with open(path, "w") as handle:
        writer = csv.DictWriter(handle, fieldnames=["id", "name", "category", "price", "stock"])
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_json(rows):
    """Write rows to a temporary JSON file and return its path."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8", delete=False) as handle:
        json.dump(rows, handle)
    return handle.name
