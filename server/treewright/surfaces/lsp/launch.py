"""`treewright lsp`: takes the wire, then starts the server. Imports nothing that initialize does not need."""

import argparse
import sys
from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int:
    """Serve one client and return the process's exit code.

    Args:
        arguments: what stands behind `treewright lsp` on the command line.
    """
    chosen = parser().parse_args(list(arguments))
    if chosen.tcp:
        return _serve_tcp(chosen.tcp, chosen.client_process_id)
    from treewright.surfaces.lsp.wire import take_wire

    source, out = take_wire()
    from treewright.surfaces.lsp.server import serve_streams

    return serve_streams(source, out, chosen.client_process_id)


def _serve_tcp(address: str, parent: int) -> int:
    host, _, port = address.rpartition(":")
    from treewright.surfaces.lsp.server import serve_socket

    return serve_socket(host or "127.0.0.1", int(port), parent)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(
        prog="treewright lsp",
        description="Serve an editor over the language server protocol, on stdin and stdout.",
    )
    found.add_argument(
        "--stdio", action="store_true", help="Accepted and needless: stdin and stdout are the default."
    )
    found.add_argument(
        "--tcp",
        metavar="[HOST:]PORT",
        default=None,
        type=_address,
        help="Listen on a local port for one client instead, for debugging; port 0 takes any.",
    )
    found.add_argument(
        "--clientProcessId",
        dest="client_process_id",
        type=int,
        default=0,
        metavar="PID",
        help="The editor's process; the server ends when it does.",
    )
    return found


def _address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    if host not in ("", "127.0.0.1", "localhost", "::1"):
        raise argparse.ArgumentTypeError("only an address of this machine, such as 127.0.0.1, is listened on")
    return text


def main() -> None:
    """Run as `python -m treewright.surfaces.lsp.launch`."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
