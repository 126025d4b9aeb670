"""`treewright models`: which providers answer, with what."""

import asyncio
import dataclasses
import json

import click

from treewright.app.model_probe import ModelRow, model_rows
from treewright.app.treewright import Treewright
from treewright.surfaces.cli import flags
from treewright.surfaces.cli.saying import say


@click.command(short_help="Show which language models answer, with what.")
@click.option("--probe", is_flag=True, help="Ask each free one for a short answer.")
@click.option(
    "--download", default="", metavar="hub:OWNER/REPOSITORY/FILE", help="Download a GGUF model after asking."
)
@click.option("--yes", is_flag=True, help="Agree to a download beforehand.")
@flags.text_or_json
def models(probe: bool, download: str, yes: bool, form: str) -> int:
    """Show configured providers and the model servers of this machine; exit 1 when none can be used."""
    app = Treewright("cli")
    if download:
        return _download(app, download, agreed=yes)
    rows = asyncio.run(model_rows(app.context, probe=probe))
    if form == "json":
        say(json.dumps([dataclasses.asdict(row) for row in rows], ensure_ascii=False, indent=1))
    else:
        _print(rows)
    return 0 if any(row.answers is not False for row in rows) else 1


def _print(rows: list[ModelRow]) -> None:
    for row in rows:
        state = {True: "answers", False: "does not answer", None: "not asked"}[row.answers]
        star = " (default)" if row.default else ""
        say(f"{row.name}{star}: {state}")
        facts = [
            row.model,
            row.where,
            row.price,
            f"{row.context_tokens} tokens of context" if row.context_tokens else "",
        ]
        say(f"  {'; '.join(fact for fact in facts if fact)}")
        if row.detail:
            say(f"  {row.detail}")
    if not rows:
        say("No provider is configured, and no model server answers at its usual port on this machine.")
        say(
            "Name one with --model (openai:MODEL, ollama:MODEL, local:/path/to/model.gguf), or write [providers.NAME]."
        )
    say("`treewright audit` works without a model.")


def _download(app: Treewright, name: str, *, agreed: bool) -> int:
    from treewright.models.download import HubModel, download

    model = HubModel.parse(name.removeprefix("hub:"))
    folder = app.context.configuration().root.folder / "models"
    if not agreed:
        click.confirm(f"Download {model.url()} to {folder}?", abort=True, err=True)
    path = asyncio.run(download(model, folder, consent=True))
    say(f"{path}\nUse it with --model local:{path}")
    return 0
