"""Downloading a GGUF model from a model hub, only when the user agreed to exactly that."""

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from treewright.errors import ModelError
from treewright.models.local import check_model_file

if TYPE_CHECKING:
    import httpx

HUB = "https://huggingface.co"
_NAME = re.compile(r"(?P<owner>[\w.-]+)/(?P<repository>[\w.-]+)/(?P<file>[\w./-]+\.gguf)")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class HubModel:
    """One file of a repository on the hub."""

    owner: str
    repository: str
    file: str

    @classmethod
    def parse(cls, name: str) -> "HubModel":
        """Return the model that `owner/repository/file.gguf` names.

        Raises:
            ModelError: `model_unknown`.
        """
        found = _NAME.fullmatch(name)
        if found is None or ".." in name.split("/"):
            raise ModelError(
                "model_unknown",
                f"{name!r} names no model file on the hub.",
                "Write hub:owner/repository/file.gguf.",
            )
        return cls(found["owner"], found["repository"], found["file"])

    def path_in(self, folder: Path) -> Path:
        """Return where the file lies once it is downloaded."""
        return folder / self.owner / self.repository / self.file

    def url(self, hub: str = HUB) -> str:
        """Return its address."""
        return f"{hub}/{self.owner}/{self.repository}/resolve/main/{self.file}"


async def download(
    model: HubModel,
    folder: Path,
    *,
    consent: bool,
    hub: str = HUB,
    on_progress: Callable[[int, int | None], None] | None = None,
) -> Path:
    """Return the path of a model file, downloading it when it is not there.

    A download that broke off is continued. The file appears under its name only when it is whole.

    Args:
        model: what to download.
        folder: where models are kept.
        consent: whether the user agreed to this download.
        hub: address of the hub.
        on_progress: receives bytes so far and in all.

    Raises:
        ModelError: `local_download_needs_consent` or `local_download_failed`.
    """
    final = model.path_in(folder)
    if final.exists():
        return final
    if not consent:
        raise ModelError(
            "local_download_needs_consent",
            f"{model.file} is not on this machine, and downloading it was not agreed to.",
            "Run the command again with --download, or download it yourself and use local:/path/to/it.",
            {"url": model.url(hub)},
        )
    final.parent.mkdir(parents=True, exist_ok=True)
    part = final.with_suffix(".part")
    digest = await _receive(model.url(hub), part, on_progress)
    if digest and _sha256(part) != digest:
        part.unlink()
        raise _failed(f"{model.file} arrived damaged", "Try again; the damaged part was removed.")
    try:
        check_model_file(part)
    except ModelError:
        part.unlink()
        raise
    part.replace(final)
    return final


async def _receive(url: str, part: Path, on_progress: Callable[[int, int | None], None] | None) -> str:
    """Append what is missing to the part; return the sha256 that the hub announced, empty when it did not."""
    import httpx

    begun = _size(part)
    headers = {"Range": f"bytes={begun}-"} if begun else {}
    digest = ""

    async def note(response: httpx.Response) -> None:
        nonlocal digest
        announced = response.headers.get("x-linked-etag", "").strip('"')
        digest = announced if re.fullmatch(r"[0-9a-f]{64}", announced) else digest

    timeout = httpx.Timeout(60, connect=15)
    try:
        async with (
            httpx.AsyncClient(
                follow_redirects=True, timeout=timeout, event_hooks={"response": [note]}
            ) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            if response.status_code == 416 and begun:
                return digest  # nothing is missing
            if response.status_code not in {200, 206}:
                raise _failed(
                    f"the hub answered {response.status_code}", "Check the name of the repository and file."
                )
            await _append(response, part, begun if response.status_code == 206 else 0, on_progress)
    except httpx.HTTPError as error:
        raise _failed(
            f"the hub cannot be reached ({type(error).__name__})",
            "Without a network, copy a .gguf file here and use local:/path/to/it. A started download continues.",
        ) from error
    except OSError as error:
        raise _failed(
            f"writing failed ({error.strerror})", "Make room on the disk, then try again."
        ) from error
    return digest


async def _append(
    response: "httpx.Response",
    part: Path,
    begun: int,
    on_progress: Callable[[int, int | None], None] | None,
) -> None:
    length = response.headers.get("content-length")
    whole = begun + int(length) if length and length.isdigit() else None
    size = begun
    with part.open("r+b" if begun else "wb") as file:
        file.seek(begun)
        async for chunk in response.aiter_bytes(_CHUNK):
            file.write(chunk)
            size += len(chunk)
            if on_progress is not None:
                on_progress(size, whole)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    if whole is not None and size != whole:
        raise _failed("the connection broke off", "Try again; it continues where it stopped.")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _failed(why: str, hint: str) -> ModelError:
    return ModelError("local_download_failed", f"Downloading the model failed: {why}.", hint)
