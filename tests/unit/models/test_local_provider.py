"""An embedded model in a child process: the real child, with a stand-in for the native library."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from treewright.errors import ModelError
from treewright.models.local import LocalProvider, LocalSettings
from treewright.models.provider import Message, Outcome, Request
from treewright.models.registry import Surroundings, build, read_settings

pytestmark = pytest.mark.asyncio

ASK = Request(messages=(Message.of("user", "Tell."),))


@pytest.fixture(autouse=True)
def stand_in(tmp_path, monkeypatch):
    folder = tmp_path / "library"
    folder.mkdir()
    shutil.copy(Path(__file__).with_name("native_stand_in.py"), folder / "xllamacpp.py")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder))


def model_file(tmp_path, mode=""):
    path = tmp_path / "tiny model.gguf"
    path.write_bytes(b"GGUF" + mode.encode())
    return path


@pytest.mark.requirement("models:local:child-process", "models:local:queued")
async def test_calls_beyond_the_slots_wait_their_turn_in_one_child_that_ends_with_close(tmp_path):
    settings = LocalSettings(path=model_file(tmp_path), slots=2, context_tokens=1024, threads=1)
    provider = LocalProvider(settings)
    assert provider.process_id is None, "nothing starts before the first call"
    done = await asyncio.gather(*(provider.complete(ASK) for _ in range(5)))
    told = [json.loads(each.text) for each in done]
    assert max(entry["most"] for entry in told) <= 2 and {entry["n_ctx"] for entry in told} == {2048}
    child = psutil.Process(provider.process_id)
    assert {entry["pid"] for entry in told} == {child.pid} and child.pid != os.getpid()
    await provider.close()
    assert not child.is_running() and provider.process_id is None
    again = await provider.complete(ASK)
    assert again.outcome is Outcome.COMPLETE, "a closed one starts again when it is asked"
    await provider.close()


@pytest.mark.requirement("models:local:child-process")
async def test_a_model_that_aborts_its_process_does_not_take_us_along_and_is_not_restarted_for_ever(tmp_path):
    provider = LocalProvider(LocalSettings(path=model_file(tmp_path, "aborts"), threads=1))
    done = await provider.complete(ASK)
    assert done.outcome is Outcome.UNREACHABLE and "process ended" in done.detail
    with pytest.raises(ModelError) as caught:
        await provider.complete(ASK)
    assert caught.value.code == "local_model_invalid" and "3 times" in caught.value.message
    await provider.close()


@pytest.mark.parametrize("mode", ["broken", "dies"])
async def test_a_model_that_does_not_load_is_a_clear_error_with_the_library_s_last_words(tmp_path, mode):
    provider = LocalProvider(LocalSettings(path=model_file(tmp_path, mode), threads=1))
    with pytest.raises(ModelError) as caught:
        await provider.complete(ASK)
    await provider.close()
    assert caught.value.code == "local_model_invalid"
    assert any("native noise" in line or "memory" in line for line in caught.value.details["log"])


async def test_a_model_that_does_not_load_in_time_is_ended(tmp_path):
    sleeper = (sys.executable, "-c", "import sys; sys.stdin.read()")
    provider = LocalProvider(LocalSettings(path=model_file(tmp_path), load_s=0.2), command=sleeper)
    with pytest.raises(ModelError, match="did not load in time"):
        await provider.complete(ASK)
    assert provider.process_id is None
    await provider.close()


@pytest.mark.requirement("models:local:dies-with-us")
@pytest.mark.parametrize("with_heir", [False, True])
async def test_the_child_ends_when_its_parent_is_killed(tmp_path, with_heir):
    """With an heir, another process holds the pipe open: the child must notice all the same."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from treewright.models.local import LocalProvider, LocalSettings\n"
        "from treewright.models.provider import Message, Request\n"
        "async def main():\n"
        "    provider = LocalProvider(LocalSettings(path=Path(sys.argv[1]), threads=1))\n"
        "    await provider.complete(Request(messages=(Message.of('user', 'x'),)))\n"
        "    heir = os.fork() if sys.argv[2] == 'True' else 0\n"
        "    if heir == 0 and sys.argv[2] == 'True':\n"
        "        sys.stdin.read()\n"
        "        os._exit(0)\n"
        "    print(provider.process_id, heir, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n",
        encoding="utf-8",
    )
    parent = subprocess.Popen(  # noqa: ASYNC220  its pipe is read before anything else happens
        [sys.executable, str(script), str(model_file(tmp_path)), str(with_heir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    child_id, heir_id = map(int, parent.stdout.readline().split())
    child = psutil.Process(child_id)
    parent.send_signal(signal.SIGKILL)
    parent.wait(5)
    try:
        gone, alive = await asyncio.to_thread(psutil.wait_procs, [child], 5)
        assert not alive and gone
    finally:
        parent.stdin.close()
        parent.stdout.close()
        if heir_id:
            psutil.wait_procs([psutil.Process(heir_id)] if psutil.pid_exists(heir_id) else [], 5)


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, "local_model_missing"), (b"", "local_model_invalid"), (b"<html>404", "local_model_invalid")],
)
async def test_a_file_that_is_no_model_is_refused_before_anything_starts(tmp_path, content, code):
    path = tmp_path / "x.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        LocalProvider(LocalSettings(path=path))
    assert caught.value.code == code and caught.value.hint


@pytest.mark.requirement("models:local:missing-extra")
async def test_without_the_package_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("treewright.models.local.find_spec", lambda _: None)
    with pytest.raises(ModelError) as caught:
        build(f"local:{model_file(tmp_path)}", read_settings({}), Surroundings())
    assert caught.value.code == "local_extra_missing" and "treewright[local]" in caught.value.hint


async def test_more_samples_than_slots_are_asked_for_in_portions(tmp_path):
    provider = LocalProvider(LocalSettings(path=model_file(tmp_path), slots=2, threads=1))
    done = await provider.complete(Request(messages=ASK.messages, samples=5))
    await provider.close()
    assert [json.loads(text)["samples"] for text in done.texts] == [2, 2, 2, 2, 1]


async def test_a_call_cancelled_while_it_waits_its_turn_ends_at_once(tmp_path):
    provider = LocalProvider(LocalSettings(path=model_file(tmp_path), slots=1, threads=1))
    cancel = asyncio.Event()
    first = asyncio.ensure_future(provider.complete(ASK))
    second = asyncio.ensure_future(provider.complete(ASK, cancel=cancel))
    await asyncio.sleep(0)
    cancel.set()
    assert (await asyncio.wait_for(second, 5)).outcome is Outcome.CANCELLED
    assert (await first).outcome is Outcome.COMPLETE
    await provider.close()
