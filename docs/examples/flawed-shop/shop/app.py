"""The web application."""

from flask import Flask

from shop import config, db
from shop.accounts import accounts
from shop.catalogue import catalogue
from shop.files import files
from shop.orders import orders
from shop.suppliers import suppliers


def create_app():
    """Return the application with all its pages."""
    app = Flask(__name__)
    app.secret_key = config.SECRET_KEY
    app.teardown_appcontext(db.close)
    for blueprint in (accounts, catalogue, files, orders, suppliers):
        app.register_blueprint(blueprint)
    return app


if __name__ == "__main__":
    create_app().run(host="0.0.0.0", debug=True)
