"""`python -m treewright`, and the `treewright` command."""

import sys

_INTERRUPTED = 130
"""exit code of what Ctrl-C ended, as shells give it (see `treewright.data.codes`, which is not loaded yet)"""


def main() -> None:
    """Run the command line, and leave quietly when Ctrl-C comes before it is there to answer."""
    if sys.version_info < (3, 11):  # noqa: UP036 - an older one can be made to start us, and is to say this much
        sys.exit(
            f"Treewright needs Python 3.11 or newer; this is {sys.version.split()[0]} at {sys.executable}."
        )
    try:
        _start(sys.argv[1:])
    except ModuleNotFoundError as fault:
        absent = (fault.name or "treewright").partition(".")[0]
        sys.exit(
            f"treewright: the package {absent} is missing from {sys.executable}.\n"
            f"  Install Treewright again there: {sys.executable} -m pip install --force-reinstall treewright\n"
            "  `treewright doctor` tells what else is missing."
        )
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(_INTERRUPTED)


def _start(arguments: list[str]) -> None:
    """`treewright lsp` starts without the command line, since an editor waits for it."""
    if arguments[:1] == ["lsp"]:
        from treewright.surfaces.lsp.launch import run as serve

        sys.exit(serve(arguments[1:]))
    from treewright.surfaces.cli.main import run

    run()


if __name__ == "__main__":
    main()
