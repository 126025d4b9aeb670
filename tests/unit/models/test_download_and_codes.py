"""Downloading only with consent; and every error code of this area is listed with its meaning."""

import ast
import hashlib
from pathlib import Path

import pytest

from tests.unit.models.loopback import Loopback, Reply
from treewright.data.codes import code_meanings
from treewright.errors import ModelError
from treewright.models import download as download_module
from treewright.models.download import HubModel, download
from treewright.models.provider import Outcome

MODEL = HubModel.parse("owner/repo-GGUF/sub/tiny.gguf")
BODY = b"GGUF" + bytes(range(256)) * 40


def whole(body: bytes = BODY, status: int = 200, **headers: str) -> Reply:
    digest = {"x-linked-etag": f'"{hashlib.sha256(BODY).hexdigest()}"'}
    length = {"content-length": str(len(body)), "content-type": "application/octet-stream"}
    return Reply([body], status, {**length, **digest, **headers})


async def fetch(replies, folder, **settings):
    async with Loopback(replies) as server:
        path = await download(MODEL, folder, hub=server.url.removesuffix("/v1"), **settings)
    return path, server


@pytest.mark.asyncio
@pytest.mark.requirement("models:local:download-consent")
async def test_nothing_is_downloaded_without_consent(tmp_path):
    async with Loopback([whole()]) as server:
        with pytest.raises(ModelError) as caught:
            await download(MODEL, tmp_path, consent=False, hub=server.url)
    assert caught.value.code == "local_download_needs_consent" and server.asked == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.asyncio
@pytest.mark.requirement("models:local:download-consent")
async def test_a_download_appears_whole_and_is_not_repeated(tmp_path):
    seen: list[tuple[int, int | None]] = []
    path, server = await fetch([whole()], tmp_path, consent=True, on_progress=lambda *now: seen.append(now))
    assert path.read_bytes() == BODY and path == tmp_path / "owner/repo-GGUF/sub/tiny.gguf"
    assert server.asked[0].path == "/owner/repo-GGUF/resolve/main/sub/tiny.gguf"
    assert seen[-1] == (len(BODY), len(BODY))
    again, server = await fetch([whole()], tmp_path, consent=False)
    assert again == path and server.asked == []


@pytest.mark.asyncio
@pytest.mark.requirement("models:local:download-consent")
async def test_a_download_that_broke_off_continues_where_it_stopped(tmp_path):
    half = len(BODY) // 2
    broken = whole(BODY[:half], **{"content-length": str(len(BODY))})
    broken.drop = True
    with pytest.raises(ModelError) as caught:
        await fetch([broken], tmp_path, consent=True)
    assert caught.value.code == "local_download_failed"
    assert [path.suffix for path in MODEL.path_in(tmp_path).parent.iterdir()] == [".part"]
    arrived = MODEL.path_in(tmp_path).with_suffix(".part").stat().st_size

    def rest(asked) -> Reply:
        assert asked.headers.get("range", "bytes=0-") == f"bytes={arrived}-"
        return whole(BODY[arrived:], 206 if arrived else 200)

    path, _ = await fetch(rest, tmp_path, consent=True)
    assert path.read_bytes() == BODY


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (whole(BODY[:-1] + b"x"), "local_download_failed"),
        (Reply([b"<html>please log in"], headers={"content-type": "text/html"}), "local_model_invalid"),
        (Reply([b""], 404), "local_download_failed"),
    ],
)
async def test_a_damaged_or_wrong_download_leaves_no_model_behind(tmp_path, reply, code):
    with pytest.raises(ModelError) as caught:
        await fetch([reply], tmp_path, consent=True)
    assert caught.value.code == code
    assert not MODEL.path_in(tmp_path).exists()
    assert not MODEL.path_in(tmp_path).with_suffix(".part").exists()


def test_every_error_code_of_this_area_is_listed():
    raised: set[str] = set()
    for path in sorted(Path(download_module.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if (
                named
                and node.func.id in {"ModelError", "CapError"}
                and isinstance(node.args[0], ast.Constant)
            ):
                raised.add(node.args[0].value)
    raised |= {f"model_{outcome.value}" for outcome in Outcome if outcome is not Outcome.COMPLETE}
    raised |= {"model_unfit", "model_context_overflow"}
    assert len(raised) > 30
    known = code_meanings()
    assert raised <= set(known)
    listed = {code for code, meaning in known.items() if meaning.area == "model"}
    assert listed <= raised, "a listed code that nothing raises"
