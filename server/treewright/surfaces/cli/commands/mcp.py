"""`treewright mcp`: the MCP server. Its own launcher reads the arguments, since nothing may be printed before the wire is taken."""

import click


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
    short_help="Serve agents over the model context protocol.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def mcp(arguments: tuple[str, ...]) -> int:
    """Serve agents over the model context protocol, on stdin and stdout or over HTTP; --help tells the options."""
    from treewright.surfaces.mcp.launch import run

    return run(arguments)
