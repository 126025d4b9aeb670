"""What one branch does is invisible to the next."""

import os
from pathlib import Path

import pytest

from tests.unit.kernels.kernel_plans import passed, plan_of, value
from treewright.kernels.forked import ForkedHost
from treewright.search.plain import decode

# name: (what the first branch does, what the next one must see)
TRACES = {
    "modules": (
        "import sys, types, string\nsys.modules['planted'] = types.ModuleType('planted')\nstring.digits = 'x'\n",
        "import sys, string\ndef look():\n    return ('planted' in sys.modules, string.digits)\n",
        (False, "0123456789"),
    ),
    "builtins": (
        "import builtins\nbuiltins.planted = 1\nbuiltins.len = lambda x: -1\n",
        "import builtins\ndef look():\n    return (hasattr(builtins, 'planted'), len([1]))\n",
        (False, 1),
    ),
    "globals": (
        "planted = 1\nimport __main__\n__main__.planted = 1\nfrom IPython import get_ipython\nget_ipython().user_ns['planted'] = 1\n",
        (
            "import __main__\nfrom IPython import get_ipython\ndef look():\n"
            "    return (hasattr(__main__, 'planted'), 'planted' in get_ipython().user_ns, 'planted' in globals())\n"
        ),
        (False, False, False),
    ),
    "folder": (
        "import os\nos.mkdir('planted')\nos.chdir('planted')\n",
        "import os\ndef look():\n    return (os.path.basename(os.getcwd()), os.listdir('.'))\n",
        ("work", ["solution.py"]),
    ),
    "environment": (
        "import os\nos.environ['PLANTED'] = '1'\nos.putenv('PLANTED2', '1')\n",
        "import os, subprocess\ndef look():\n    return ('PLANTED' in os.environ, 'PLANTED2' in subprocess.check_output(['env'], text=True))\n",
        (False, False),
    ),
    "temporary-files": (
        "import tempfile\nopen(tempfile.gettempdir() + '/planted', 'w').write('x')\n",
        "import os, tempfile\ndef look():\n    return os.listdir(tempfile.gettempdir())\n",
        [],
    ),
    "threads": (
        "import threading, time\nfor _ in range(3):\n    threading.Thread(target=time.sleep, args=(60,), name='planted').start()\n",
        "import threading\ndef look():\n    return [t.name for t in threading.enumerate() if t.name == 'planted']\n",
        [],
    ),
    "random-state": (
        "import random\nrandom.seed(1)\n",
        "import random\ndef look():\n    return random.random() == 0.13436424411240122\n",
        False,
    ),
    "signals-and-hooks": (
        "import signal, sys, atexit\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\nsys.excepthook = None\nsys.setrecursionlimit(50)\n",
        "import signal, sys\ndef look():\n    return (signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL, sys.excepthook is None, sys.getrecursionlimit() > 500)\n",
        (True, False, True),
    ),
    "import-path": (
        "import sys\nsys.path.insert(0, '/planted')\nsys.meta_path.clear()\n",
        "import sys\ndef look():\n    return ('/planted' in sys.path, bool(sys.meta_path))\n",
        (False, True),
    ),
}


@pytest.mark.requirement("kernels:isolation:state")
@pytest.mark.parametrize("name", TRACES)
def test_what_one_branch_leaves_the_next_does_not_find(forked: ForkedHost, name: str) -> None:
    first, second, expected = TRACES[name]
    plan = plan_of(value("look()", expected))
    forked.run_branch(first, plan)
    trace = forked.run_branch(second, plan)
    assert passed(plan, trace) == [True], trace.observations


@pytest.mark.requirement("kernels:isolation:random")
def test_two_branches_draw_different_random_numbers(forked: ForkedHost) -> None:
    plan = plan_of(value("draw()"))
    program = "import random, uuid, tempfile\ndef draw():\n    return (random.random(), str(uuid.uuid4()), tempfile.mktemp())\n"
    drawn = [decode(forked.run_branch(program, plan).observations[0].value) for _ in range(2)]
    assert all(one != other for one, other in zip(*drawn, strict=True))


@pytest.mark.requirement("kernels:isolation:environment-scrubbed")
def test_nothing_of_our_environment_is_there(forked: ForkedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET_KEY", "sesame")
    plan = plan_of(value("look()"))
    program = "import os\ndef look():\n    return dict(os.environ)\n"
    seen = decode(forked.run_branch(program, plan).observations[0].value)
    assert "sesame" not in str(seen)
    assert seen["HOME"].endswith("/work")
    assert {name for name in seen if name.startswith("TREEWRIGHT")} == set()


@pytest.mark.requirement("kernels:isolation:host-unseen")
def test_our_processes_files_and_descriptors_are_out_of_reach(forked: ForkedHost, tmp_path: Path) -> None:
    target = tmp_path / "ours"
    target.write_text("ours", encoding="utf-8")
    program = (
        "import os, signal\ndef files(path):\n    try:\n        open(path, 'w').close()\n        return 'written'\n"
        "    except OSError:\n        return 'refused'\n"
        "def processes(pid):\n    try:\n        os.kill(pid, 0)\n        return os.path.exists(f'/proc/{pid}/environ')\n"
        "    except OSError:\n        return False\n"
        "def descriptors():\n    return sorted(os.readlink(f'/proc/self/fd/{n}').split(':')[0] for n in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}'))\n"
    )
    plan = plan_of(
        value(f"files({str(target)!r})", "refused"),
        value(f"processes({os.getpid()})", False),
        value("descriptors()"),
    )
    trace = forked.run_branch(program, plan)
    missing = forked.guarantees_missing()
    assert "files" in missing or (passed(plan, trace)[0] and target.read_text(encoding="utf-8") == "ours")
    assert "processes" in missing or passed(plan, trace)[1]
    held = decode(trace.observations[2].value)
    # Three standard streams and the check channel are pipes; the rest are the kernel's own sockets and loops.
    assert held.count("pipe") <= 3
    assert {
        one for one in held if one.startswith("/") and not one.startswith(("/dev/null", "/proc"))
    } == set()


@pytest.mark.requirement("kernels:isolation:keys")
def test_every_kernel_has_a_key_of_its_own(forked: ForkedHost) -> None:
    lives = [forked.fresh() for _ in range(2)]
    try:
        assert lives[0].kernel.connection["key"] != lives[1].kernel.connection["key"]
        assert len(lives[0].kernel.connection["key"]) >= 32
    finally:
        for live in lives:
            live.close()
