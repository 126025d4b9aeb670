"""The glossary step over MCP: the client's user is asked once, where the client offers to ask (contract: surfaces, 4)."""

from treewright.app.glossary import glossary_step
from treewright.app.materials import load_materials
from treewright.app.request import ExplorationRequest
from treewright.app.roots import resolve_root
from treewright.explore.glossary import Ask, Question
from treewright.surfaces.mcp.calls import Call

_MOST_ASKED = 8


async def settled_by_user(call: Call, request: ExplorationRequest) -> Ask | None:
    """Return the user's decisions about the root's terms; None when there is nothing to ask, or nobody."""
    if request.no_grill or not call.asking.elicits:
        return None
    app = await call.office.app()
    store = app.context.configuration().root.folder
    questions = await call.thread(_questions, request, str(store))
    if not questions:
        return None
    choices = {
        f"term_{number}": (_asked(each), list(each.options)) for number, each in enumerate(questions, 1)
    }
    message = "These terms of the root are not settled in the project's glossary. What do they mean here?"
    given = await call.asking.elicit("glossary", message, choices)
    if given is None:
        return None
    chosen = {
        each.term: each.options.index(answer)
        for number, each in enumerate(questions, 1)
        if (answer := given.get(f"term_{number}", "")) in each.options
    }
    return lambda question: chosen.get(question.term)


def _asked(question: Question) -> str:
    why = "is not in the glossary" if question.why == "missing" else "fits several entries"
    return f"“{question.term}” {why}"


def _questions(request: ExplorationRequest, store: str) -> list[Question]:
    """Return what the glossary step would ask, by going through it with nobody to answer."""
    from pathlib import Path

    loaded = load_materials(request.preset, Path(store), Path(request.base), request.field)
    root = resolve_root(loaded.materials.preset, request)
    asked: list[Question] = []

    def note(question: Question) -> None:
        asked.append(question)

    glossary_step(loaded.materials.preset, root, request.glossary, skip=False, ask=note)
    return [question for question in asked if len(question.options) > 1][:_MOST_ASKED]
