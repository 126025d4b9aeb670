"""Who proposes programs in a search and within what bounds; what is refused, and what is worth a notice."""

from collections.abc import Sequence

from treewright.app.request import Notice
from treewright.app.search_request import Opened, SearchRequest
from treewright.errors import CapError, RequestError
from treewright.search.functions import defines
from treewright.search.settings import CANDIDATES_WARNED_ABOVE, SearchSettings, default_generators
from treewright.search.task import SearchTask
from treewright.store.config import Configuration

NO_MODEL = "static"


def model_name(asked: str, configuration: Configuration) -> str:
    """Return the provider that a search asks: the one that was named, else the default; empty for none."""
    wanted = asked or configuration.settings.models.default
    return "" if wanted == NO_MODEL else wanted


def asks_model(settings: SearchSettings) -> bool:
    """Whether a search asks a model at all."""
    return any(name in settings.generators for name in ("model", "revise"))


def settle(
    request: SearchRequest, configuration: Configuration, task: SearchTask, *, given: bool, model: bool
) -> SearchSettings:
    """Return the bounds of a search.

    Args:
        request: as it was asked.
        configuration: gives what it leaves open.
        task: what there is to start from.
        given: whether programs were handed in.
        model: whether a model can be asked.

    Raises:
        RequestError: `search_no_generator`.
    """
    names = request.generators or default_generators(task, model_configured=model, given=given)
    if given and "given" not in names:
        names = ("given", *names)
    if request.awaits:
        names = ("given", *names)
    _refuse_generators(names, task, given=given or request.awaits, model=model)
    return SearchSettings(
        generators=tuple(dict.fromkeys(names)),
        max_candidates=request.max_candidates or configuration.settings.search.max_candidates,
        mutate_seconds=request.mutate_seconds,
        exhaustive=request.exhaustive,
        efficiency=request.efficiency,
    )


def _refuse_generators(names: Sequence[str], task: SearchTask, *, given: bool, model: bool) -> None:
    if not names:
        raise RequestError(
            "search_no_generator",
            "Nobody is there to propose a program.",
            "Name a file to start from, --candidates, or a --model.",
        )
    if {"model", "revise"} & set(names) and not model:
        raise RequestError(
            "search_no_generator",
            "The generators `model` and `revise` need a language model, and none is configured.",
            "Name one with --model, or set [models] default; `treewright models` shows what answers here.",
        )
    if "revise" in names and "model" not in names and not given:
        raise RequestError(
            "search_no_generator", "There is nothing to revise.", "Add --generator model, or --candidates."
        )
    if "mutate" in names and not task.start.strip() and not ({"model", "given"} & set(names)):
        raise RequestError(
            "search_no_generator",
            "Edits need a program to start from.",
            "Name its file: treewright search FILE ...",
        )
    if "given" in names and not given:
        raise RequestError(
            "search_no_generator", "No candidates were given.", "Name their files with --candidates."
        )


def refuse_disabled(configuration: Configuration) -> None:
    """Refuse when searches are switched off.

    Raises:
        CapError: `capability_disabled`.
    """
    if not configuration.settings.search.enabled:
        raise CapError(
            "capability_disabled",
            "Code-branch search is switched off.",
            "Set [search] enabled = true in config.toml.",
        )


def refuse_missing_function(task: SearchTask) -> None:
    """Refuse a function that the starting program does not define.

    Raises:
        RequestError: `search_no_function`.
    """
    if task.entry_point and task.start.strip() and not defines(task.start, task.entry_point):
        raise RequestError(
            "search_no_function",
            f"{task.path} defines no {task.entry_point}.",
            "Write FILE:FUNCTION with a function or Class.method of the file.",
        )


def notices(opened: Opened, settings: SearchSettings) -> list[Notice]:
    """Return what the user should know before it starts (contract: search, 5)."""
    found = []
    if settings.max_candidates > CANDIDATES_WARNED_ABOVE:
        found.append(
            Notice(
                code="W051",
                message=f"W051: max_candidates is {settings.max_candidates}; above {CANDIDATES_WARNED_ABOVE} it "
                "costs more than it usually finds.",
                severity="warning",
            )
        )
    if opened.cap_defaulted and opened.model:
        found.append(
            Notice(
                code="W052",
                message=f"W052: no spend cap was set; the default of {opened.spend_cap_usd:.2f} USD holds.",
                severity="warning",
            )
        )
    return found
