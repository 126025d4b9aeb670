"""Settings of the shop."""

import os
from pathlib import Path

DATABASE = os.environ.get("SHOP_DATABASE", "shop.sqlite3")
MEDIA = Path(os.environ.get("SHOP_MEDIA", "media")).resolve()
CARRIER_URL = os.environ.get("SHOP_CARRIER_URL", "https://carrier.example.com/api")
CARRIER_TOKEN = os.environ.get("SHOP_CARRIER_TOKEN", "")
SECRET_KEY = "9f2c7be1d04a4f0e8d55c1b7a6e3f218"
CURRENCY = "EUR"
EXPORT_FORMATS = ("csv", "json")
