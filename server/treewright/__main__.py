"""`python -m treewright`, and the `treewright` command."""

import sys


def main() -> None:
    """Run the command line; `treewright lsp` starts without it, since an editor waits for it."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["lsp"]:
        from treewright.surfaces.lsp.launch import run as serve

        sys.exit(serve(arguments[1:]))
    from treewright.surfaces.cli.main import run

    run()


if __name__ == "__main__":
    main()
