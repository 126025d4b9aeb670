"""Files that run inside a kernel's process: standard library only, any CPython from 3.10 on.

They are loaded by path or as text, never by import, so that an interpreter without Treewright can run them:

- `contain` and `watch`: namespaces, limits, counting and killing of everything a kernel starts (POSIX);
- `streams`, `observe` and `guard`: load a candidate, evaluate checks, report on a channel of its own;
- `child` and `boot`: bring the guard into a plain interpreter and into an ordinary kernel;
- `pytests`: runs trusted test files beside a candidate and reports each test on the same channel;
- `zygote`: the warm parent that forks kernels, and `deep`, the kernel it holds ready;
- `launcher`: contains any other kernel's command;
- `screener`: forks one bare child a program or a few; `several`: runs a few in one process, to sieve them.
"""
