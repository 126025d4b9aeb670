"""A process that analyses files: pickled tasks on stdin, pickled facts on stdout.

Not `multiprocessing`: its spawn imports the host's main module again, and its fork is unsafe beside threads, and
this code runs in servers, editors and scripts that know neither.
"""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from treewright.performers.static.facts import FileFacts
from treewright.performers.static.languages import analyse

Task = tuple[str, str, str, frozenset[str], bool]
"""path, text, digest, roots, library: the arguments of `analyse`."""


def one(task: Task) -> FileFacts:
    """Analyse one file here, by its language."""
    return analyse(*task)


def many(tasks: list[Task], workers: int) -> list[FileFacts]:
    """Analyse files in several processes; what a process fails to give back is analysed here.

    Args:
        tasks: any number. workers: processes, at least 1.
    """
    groups: list[list[Task]] = [[] for _ in range(workers)]
    sizes = [0] * workers
    for task in sorted(tasks, key=lambda entry: -len(entry[1])):
        index = sizes.index(min(sizes))
        groups[index].append(task)
        sizes[index] += len(task[1]) + 2000
    with ThreadPoolExecutor(workers) as pool:
        return [facts for group in pool.map(_remote, [g for g in groups if g]) for facts in group]


def _remote(tasks: list[Task]) -> list[FileFacts]:
    from treewright.performers.static.cache import read_facts

    try:
        done = subprocess.run(
            # -P: the current folder may be a stranger's repository and must not be on the module path.
            [sys.executable, "-P", "-m", "treewright.performers.static.worker"],
            input=pickle.dumps(tasks, protocol=5),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
            check=False,
        )
    except OSError:
        return [one(task) for task in tasks]
    found = read_facts(done.stdout) if done.returncode == 0 else None
    return found if found is not None and len(found) == len(tasks) else [one(task) for task in tasks]


def main() -> None:
    """Serve one batch."""
    sys.setrecursionlimit(3000)
    tasks: list[Task] = pickle.load(sys.stdin.buffer)  # noqa: S301 (written by our own parent process)
    wire = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    pickle.dump([one(task) for task in tasks], wire, protocol=5)
    wire.flush()


if __name__ == "__main__":
    main()
