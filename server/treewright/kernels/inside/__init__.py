"""Files that run inside a kernel's process: standard library only, any CPython from 3.10 on.

They are loaded by path or as text, never by import, so that an interpreter without Treewright can run them:

- `contain`: namespaces, limits, counting and killing of everything a kernel starts (POSIX);
- `guard`: loads a candidate, evaluates checks, reports on a channel of its own;
- `pytests`: runs trusted test files beside a candidate and reports each test on the same channel;
- `zygote`: the warm parent that forks kernels, and `deep`, the kernel it holds ready;
- `launcher`: contains any other kernel's command;
- `screener`: forks one bare child a program.
"""
