import pytest

from shop import config, db
from shop.app import create_app
from shop.catalogue import by_first_letter, similar
from shop.orders import cancel, place, prices


@pytest.fixture
def connection(tmp_path, monkeypatch):
    path = str(tmp_path / "shop.sqlite3")
    monkeypatch.setattr(config, "DATABASE", path)
    opened = db.connect(path)
    with opened:
        opened.execute("INSERT INTO products VALUES (1, 'Teapot', 'kitchen', 2500, 3)")
        opened.execute("INSERT INTO products VALUES (2, 'Tray', 'kitchen', 1200, 8)")
    yield opened
    opened.close()


@pytest.fixture
def client(connection):
    return create_app().test_client()


def test_search_finds_by_part_of_the_name(client):
    assert [row["name"] for row in client.get("/search?q=pot").json] == ["Teapot"]


def test_a_category_is_sorted(client):
    assert [row["id"] for row in client.get("/category/kitchen?sort=price").json] == [2, 1]
    assert client.get("/category/kitchen?sort=stock").status_code == 400


def test_a_product_that_does_not_exist(client):
    assert client.get("/products/99").status_code == 404


def test_signing_up_and_in(client):
    given = {"name": "ada", "password": "correct horse"}
    assert client.post("/signup", data=given).status_code == 201
    assert client.post("/signin", data=given).json == {"name": "ada"}
    assert client.post("/signin", data={**given, "password": "x"}).status_code == 401


def test_only_administrators_list_users(client):
    assert client.get("/users").status_code == 403


def test_an_order_takes_from_the_stock(connection):
    number = place(connection, "ada", 1, 2)
    assert number is not None
    assert place(connection, "ada", 1, 2) is None
    assert cancel(connection, number)
    assert connection.execute("SELECT stock FROM products WHERE id = 1").fetchone()["stock"] == 3


def test_prices_start_empty():
    assert prices([{"product": 1, "price": 5}]) == {1: 5}
    assert prices([]) == {}


def test_grouping(connection):
    rows = [dict(row) for row in connection.execute("SELECT * FROM products")]
    assert similar(rows) == [(1, 2)]
    assert list(by_first_letter(rows)) == ["T"]


def test_pictures_stay_in_their_folder(client):
    assert client.get("/pictures?name=../../shop.sqlite3").status_code == 404
