"""`treewright lsp`: the language server, when it was not started past the command line already."""

import click


@click.command(
    short_help="Serve an editor over the language server protocol.",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def lsp(arguments: tuple[str, ...]) -> int:
    """Serve an editor over the language server protocol, on stdin and stdout."""
    from treewright.surfaces.lsp.launch import run

    return run(arguments)
