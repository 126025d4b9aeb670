"""`treewright deliberate`: a staged deliberation, driven by a model, by a person, or by a script step by step."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from treewright.app.autopilot import DEFAULT_MODE, begin, drive_session, seeded
from treewright.app.treewright import Treewright
from treewright.counted import counted
from treewright.data.codes import ExitClass, code_meanings, exit_class
from treewright.deliberate.reply import Reply
from treewright.regular import read_regular_text
from treewright.surfaces.cli import flags
from treewright.surfaces.cli.drive import announce
from treewright.surfaces.cli.saying import say

_PLACE = click.Path(path_type=Path)


@click.command(short_help="Take one hard question through stages.")
@click.argument("question", required=False, default="")
@click.option("--mode", type=click.Choice(["serial", "subagent"]), help="One voice, or rival specialists.")
@click.option(
    "--stages", default="", metavar="A,B", help="Names of the stages. Default: the five usual ones."
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of this session: serial.max_rounds=1.",
)
@click.option("--model", default="", help="Provider name or specification that thinks it through to the end.")
@click.option(
    "--spend-cap",
    "spend_cap_usd",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Most dollars for models that cost. Default: [deliberate] spend_cap_usd (2.00).",
)
@click.option("--seed-from", default="", metavar="RUN/NODE", help="Start from a node of an exploration.")
@click.option("--session", default="", metavar="ID", help="Go on with this session, or act on it.")
@click.option("--list", "list_them", is_flag=True, help="List the sessions.")
@click.option("--show", is_flag=True, help="Print the session's transcript.")
@click.option("--export", is_flag=True, help="Print the session as JSON.")
@click.option("--keep", is_flag=True, help="Note that the session's file stays where it is.")
@click.option("--move", type=_PLACE, metavar="PATH", help="Move the session's file.")
@click.option("--force", is_flag=True, help="With --move: replace a file that is there.")
@click.option("--import", "import_file", type=_PLACE, metavar="FILE", help="Import a session's JSON.")
@click.option(
    "--import-home",
    type=_PLACE,
    metavar="FOLDER",
    is_flag=False,
    flag_value="",
    help="Import every session of a deep-think-mcp home. Default: DEEP_THINK_HOME.",
)
@click.option(
    "--call", "tool", default="", metavar="TOOL", help="Call one tool, with --arg, and print its reply."
)
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of --call; NAME=@FILE reads a file.",
)
@flags.text_or_json
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def deliberate(question: str, session: str, form: str, quiet: bool, **given: Any) -> int:
    """Deliberate on QUESTION in stages.

    With --model it is thought through to the end; on a terminal without one you are asked step by step; elsewhere the next
    action is printed as JSON, and --call takes it.
    """
    app = Treewright("cli")
    _refuse_what_has_no_part(question, session, given)
    session = _found(app, session) if session else ""
    acted = _act(app, session, form, **given)
    if acted is not None:
        return acted
    if not (question or session or given["seed_from"]):
        raise click.UsageError("Name a question, or a session with --session.")
    if given["model"]:
        return _drive(app, question, session, form, quiet=quiet, **given)
    with app.deliberation() as desk:
        session, reply = _opened(app, desk.tools, question, session, **given)
        if not reply["ok"] and reply["code"] != "mode_required":
            return _told(reply, form)
        if sys.stdin.isatty() and sys.stdout.isatty() and form == "text":
            from treewright.surfaces.cli.by_hand import by_hand

            return by_hand(desk.tools, session)
        say(json.dumps({**desk.tools.next_action(session), "session_id": session}, ensure_ascii=False))
    return 0


_ACTS = {
    "list_them": "--list",
    "show": "--show",
    "export": "--export",
    "keep": "--keep",
    "move": "--move",
    "import_file": "--import",
    "import_home": "--import-home",
    "tool": "--call",
}
_OF_A_NEW_SESSION = {"stages": "--stages", "overrides": "--set", "seed_from": "--seed-from"}


def _refuse_what_has_no_part(question: str, session: str, given: dict[str, Any]) -> None:
    """Refuse what would be passed over in silence.

    Raises:
        click.UsageError: it names what does not go together.
    """
    acts = [flag for name, flag in _ACTS.items() if given[name] not in (None, False, "")]
    if len(acts) > 1:
        raise click.UsageError(f"{' and '.join(acts)} are two things to do: give them one after the other.")
    new = [flag for name, flag in _OF_A_NEW_SESSION.items() if given[name]] + ["A question"] * bool(question)
    if new and (session or acts):
        raise click.UsageError(
            f"{new[0]} belongs to a new session, and {(['--session', *acts])[-1]} is about one that exists."
        )
    if given["force"] and given["move"] is None:
        raise click.UsageError("--force is for --move.")
    if given["arguments"] and not given["tool"]:
        raise click.UsageError("--arg is for --call.")
    if given["stages"] and not given["stages"].strip(" ,"):
        raise click.UsageError(
            "--stages names no stage: write names with commas between, such as Analysis,Conclusion."
        )


def _act(app: Treewright, session: str, form: str, **given: Any) -> int | None:
    """Do what a flag asks for instead of deliberating; None when none does."""
    if given["list_them"]:
        return _list(app, form)
    if given["import_file"] is not None:
        return _import(app, given["import_file"], form)
    if given["import_home"] is not None:
        return _import_home(app, given["import_home"], form)
    wants = [name for name in ("show", "export", "keep", "move", "tool") if given[name]]
    if not wants:
        return None
    if not session and not (given["tool"] and len(wants) == 1):
        raise click.UsageError("Name the session with --session.")
    with app.deliberation() as desk:
        if given["show"]:
            reply = desk.tools.render_session(session)
            say(
                reply["markdown"] if reply["ok"] else _text_of(reply), err=not reply["ok"], nl=not reply["ok"]
            )
            return _exit(reply)
        if given["export"]:
            reply = desk.tools.export_session(session)
            say(reply["session_json"] if reply["ok"] else _text_of(reply), err=not reply["ok"])
            return _exit(reply)
        if given["keep"]:
            return _told(desk.tools.keep_here(session), form)
        if given["move"]:
            place = str(given["move"].expanduser().absolute())
            return _told(desk.tools.move_session(session, place, force=given["force"]), form)
        arguments: dict[str, object] = dict(_argument(pair) for pair in given["arguments"])
        if session:
            arguments.setdefault("session_id", session)
        reply = desk.tools.call(given["tool"], arguments)
    say(json.dumps(reply, ensure_ascii=False))
    return _exit(reply)


def _argument(pair: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not equals or not name.strip():
        raise click.UsageError(f"{pair!r} is not NAME=VALUE.")
    if value.startswith("@"):
        try:
            value = read_regular_text(Path(value[1:]).expanduser())
        except (OSError, UnicodeDecodeError) as fault:
            raise click.UsageError(f"{value[1:]} cannot be read: {_why(fault)}.") from fault
    return name.strip(), value


def _why(fault: OSError | UnicodeDecodeError) -> str:
    return (fault.strerror or str(fault)) if isinstance(fault, OSError) else "it is not UTF-8"


def _opened(app: Treewright, tools: Any, question: str, session: str, **given: Any) -> tuple[str, Reply]:
    """Start a session, or take one up."""
    if session:
        reply: Reply = tools.resume_session(session)
        if reply["ok"] and given["mode"] and given["mode"] != reply.get("mode"):
            reply = tools.set_session_mode(session, given["mode"])
        return session, reply
    stages = [name.strip() for name in given["stages"].split(",") if name.strip()]
    if given["seed_from"]:
        question = seeded(app.context, given["seed_from"], question)
    reply = begin(
        tools, question, mode=given["mode"] or "", stages=stages, overrides=", ".join(given["overrides"])
    )
    return str(reply.get("session_id", "")), reply


def _drive(app: Treewright, question: str, session: str, form: str, *, quiet: bool, **given: Any) -> int:
    """Let a model think it through; Ctrl-C keeps everything."""

    now = {"stage": ""}

    def told(name: str, reply: Reply) -> None:
        lens = f" ({reply['lens']})" if reply.get("lens") else ""
        announce(
            f"{now['stage']}: {name}{lens}: {'done' if reply['ok'] else reply['message']}",
            "text",
            quiet=quiet,
        )

    given["mode"] = given["mode"] or ("" if session else DEFAULT_MODE)
    with app.driven_deliberation(given["model"], given["spend_cap_usd"], told) as desk:
        session, reply = _opened(app, desk.tools, question, session, **given)
        if not reply["ok"] and reply["code"] != "mode_required":
            return _told(reply, form)
        announce(f"session {session}", "text", quiet=quiet)
        try:
            reply = drive_session(desk.tools, session, lambda stage: now.update(stage=stage))
        except KeyboardInterrupt:
            _how_to_go_on(session, given["model"])
            raise
        return _ended(desk.tools, session, reply, form, given["model"])


def _ended(tools: Any, session: str, reply: Reply, form: str, model: str) -> int:
    if form == "json":
        place = tools.resume_session(session)
        shown = {
            key: place.get(key) for key in ("question", "mode", "status", "stage", "stages", "save_path")
        }
        say(json.dumps({"session_id": session, **shown, "reply": reply}, ensure_ascii=False))
    elif reply["ok"]:
        rendered = tools.summarize_session(session)
        say(rendered.get("summary") or rendered["message"])
        say(reply["message"])
        if reply.get("human_prompt"):
            say(reply["human_prompt"])
        say(f"Whole: treewright deliberate --session {session} --show")
    else:
        say(f"treewright: {reply['message']}", err=True)
    if not reply["ok"]:
        _how_to_go_on(session, model)
        return int(ExitClass.MODEL if str(reply["code"]).startswith("autopilot") else _exit(reply))
    return 0


def _how_to_go_on(session: str, model: str) -> None:
    say(
        f"Everything is kept. Go on with: treewright deliberate --session {session} --model {model}", err=True
    )


def _found(app: Treewright, session: str) -> str:
    """Return the whole id of a session of which a user gives the beginning."""
    with app.deliberation() as desk:
        known = [str(one["session_id"]) for one in desk.tools.list_sessions().get("sessions", [])]
    if session == "last" and known:
        return known[0]
    fits = [one for one in known if one.startswith(session)]
    return fits[0] if len(fits) == 1 else session


def _list(app: Treewright, form: str) -> int:
    with app.deliberation() as desk:
        reply = desk.tools.list_sessions()
    if form == "json":
        say(json.dumps(reply.get("sessions", []), ensure_ascii=False, indent=1))
    elif reply.get("sessions"):
        for one in reply["sessions"]:
            asked = " ".join(str(one["question"]).split())[:60]
            say(
                f"{one['session_id']}  {one['updated_at'][:16]}  {one['status']:<9} {one['mode'] or '-':<8} {asked}"
            )
    else:
        say(reply["message"])
    return _exit(reply)


def _import(app: Treewright, path: Path, form: str) -> int:
    try:
        text = read_regular_text(path.expanduser())
    except (OSError, UnicodeDecodeError) as fault:
        raise click.UsageError(f"{path} cannot be read: {_why(fault)}.") from fault
    with app.deliberation() as desk:
        return _told(desk.tools.import_session(text), form)


def _import_home(app: Treewright, folder: Path, form: str) -> int:
    from treewright.app.session_import import import_home

    with app.deliberation() as desk:
        named = folder.expanduser() if str(folder) not in ("", ".") else None
        replies = import_home(desk.tools, named)
    if form == "json":
        say(json.dumps(replies, ensure_ascii=False, indent=1))
    else:
        for reply in replies:
            say(f"{Path(reply['source']).name}: {reply['message']}")
        say(
            f"{sum(bool(reply['ok']) for reply in replies)} of {counted(len(replies), 'session')} {'is' if len(replies) == 1 else 'are'} here."
        )
    return int(ExitClass.DONE if all(reply["ok"] for reply in replies) else ExitClass.NOT_AS_ASKED)


def _told(reply: Reply, form: str) -> int:
    if form == "json":
        say(json.dumps(reply, ensure_ascii=False))
    else:
        say(_text_of(reply), err=not reply["ok"])
    return _exit(reply)


def _text_of(reply: Reply) -> str:
    return str(reply["message"])


def _exit(reply: Reply) -> int:
    if reply["ok"]:
        return 0
    known = code_meanings().get(str(reply["code"]))
    return int(exit_class(str(reply["code"])) if known else ExitClass.USAGE)
