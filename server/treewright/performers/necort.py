"""The one importer of the pinned third-party core in `vendor/necort` (contract: deliberation, 3).

The core, `NashEquilibriumRecursiveChat`, is run unedited. What it needs is supplied from here:

- its Nash module uses `datetime` without importing it: the name is put into the module;
- it calls one hard-coded address with fields of one provider: `_call_api` is replaced by a call of the
  provider we are handed, which sends the messages and the temperature and nothing else, to the endpoint and
  with the headers that the operator configured;
- it prints: its modules get a `print` that does nothing, so that the standard output of a server stays clean;
- it asks a model how many rounds to run: `_determine_thinking_rounds` answers 1, since rounds are ours to count;
- after its last rating it would ask for improvements that nothing rates any more: those calls answer with the
  texts that were rated, so that each rating belongs to the text it is shown with;
- it turns a failed call into the text of an answer: ours raises;
- it reads a rating by gluing all digits before the first full stop together (a reply such as "8 of 10" becomes
  810, cut to 10): the reply to a rating is reduced to its first number before the core sees it, and one without a
  number from 0 to 10 is a failure, not a neutral 5. A model that can be held to a shape is held to one number, since a
  small one writes prose instead;
- it imports `openai` and `requests` and uses neither once `_call_api` is replaced: where they are not installed,
  empty modules stand in while it is imported. `numpy` it does need.

Its rating is one blended number from 0 to 10. What that can fill is decided in `treewright.deliberate`.
"""

import asyncio
import datetime
import importlib.util
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from treewright.deliberate.ports import Endpoint, Negotiation
from treewright.errors import ModelError

PINNED_COMMIT = "f4d290ceb086d47bb0f872164344836c47134452"
"""The commit of `vendor/necort` that this adapter is written and tested for."""

_BASE_MODULE = "recursive_thinking_ai"
_NASH_MODULE = "nash_recursive_thinking"
_CORE_CLASS = "NashEquilibriumRecursiveChat"
_UNUSED = ("openai", "requests")
_NEEDED_METHODS = ("_call_api", "_evaluate_response_utility", "_find_nash_equilibrium", "think_and_respond")
_NUMBER = re.compile(r"(?<![\d.])(\d+(?:[.]\d+)?)")
_HIGHEST = 10.0
_RATING_MARK = "Rate this response from 0-10"

_import_lock = threading.Lock()
_loaded: dict[tuple[str, float, float], type[Any]] = {}


class Chat(Protocol):
    """Calls a language model; blocking. Raises `ModelError` when it cannot."""

    def __call__(
        self, messages: Sequence[dict[str, str]], temperature: float, endpoint: Endpoint, *, rating: bool
    ) -> str:
        """Return the model's answer.

        Args:
            messages: role and content of each.
            temperature: 0 to 2.
            endpoint: where to call, and whether with the operator's key.
            rating: whether a number from 0 to 10 is asked for, to which a model may be held.
        """
        ...


def vendored_checkout() -> Path:
    """Return the folder of the pinned core in a repository checkout (it may be empty or missing)."""
    return Path(__file__).resolve().parents[3] / "vendor" / "necort"


def fault_of(checkout: str = "") -> str:
    """Return why the core cannot be used, or "" when it can.

    Args:
        checkout: folder of the core, or empty for the vendored one.
    """
    try:
        _core_class(_folder(checkout))
    except ModelError as error:
        return error.message
    return ""


class NecortNegotiator:
    """`Negotiator` over the pinned core.

    Args:
        chat: calls the language model.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def negotiate(
        self, prompt: str, specialists: int, endpoints: Sequence[Endpoint], checkout: str
    ) -> Negotiation:
        """Run one round: every voice answers, every voice rates the others, an equilibrium is chosen.

        Blocking: 2 calls a voice and pair; with several endpoints they are used in turn.

        Raises:
            ModelError: `necort_absent`, `necort_broken`, or what the model call raised.
        """
        if not endpoints:
            raise ModelError("necort_broken", "necort has no endpoint to call.")
        core = _core_class(_folder(checkout))
        voices = max(2, specialists)
        run = _Run(self._chat, endpoints)
        try:
            chat = _shimmed(core, run)(api_key="unused", num_agents=voices)
            chat.base_url, chat.headers = endpoints[0].url, {}
            result = chat.think_and_respond(prompt, verbose=False)
            return run.negotiation(result, specialists)
        except ModelError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, NameError) as error:
            raise _broken(f"it failed while running ({type(error).__name__}: {error})") from error

    async def negotiate_async(
        self, prompt: str, specialists: int, endpoints: Sequence[Endpoint], checkout: str
    ) -> Negotiation:
        """Run one round off the event loop; see `negotiate`."""
        return await asyncio.to_thread(self.negotiate, prompt, specialists, endpoints, checkout)


class _Run:
    """What one round of the core said, as it happened."""

    def __init__(self, chat: Chat, endpoints: Sequence[Endpoint]) -> None:
        self._chat = chat
        self._endpoints = endpoints
        self._calls = 0
        self._replays: Iterator[str] | None = None
        self.rated: list[str] = []
        self.matrix: list[list[float]] = []
        self.in_equilibrium: list[int] = []

    def call(self, messages: Sequence[dict[str, str]], temperature: float) -> str:
        """Answer a call of the core."""
        if self._replays is not None:
            return next(self._replays)
        endpoint = self._endpoints[self._calls % len(self._endpoints)]
        self._calls += 1
        rating = bool(messages) and _RATING_MARK in messages[-1]["content"]
        text = self._chat(messages, temperature, endpoint, rating=rating).strip()
        if not text:
            raise ModelError("model_empty", "The model answered with nothing.")
        return _rating(text) if rating else text

    def record_ratings(self, responses: Sequence[str], matrix: Any) -> None:
        """Note which texts were rated and how; later calls are answered from them."""
        self.rated = [str(text) for text in responses]
        self.matrix = [[float(value) for value in row] for row in matrix]
        self._replays = iter(self.rated)

    def negotiation(self, result: Any, specialists: int) -> Negotiation:
        """Return the round in our terms; a voice's own zero for itself does not count.

        Raises:
            ModelError: `necort_broken` when what came back does not fit together.
        """
        count = len(self.rated)
        if count < specialists or len(self.matrix) != count or any(len(row) != count for row in self.matrix):
            raise _broken("it rated another number of texts than there are voices")
        ratings = [
            sum(self.matrix[rater][rated] for rater in range(count) if rater != rated)
            / (count - 1)
            / _HIGHEST
            for rated in range(count)
        ]
        selected = int(result["final_response_agent"])
        if not 0 <= selected < specialists:
            selected = max(range(specialists), key=lambda number: (ratings[number], -number))
        return Negotiation(
            candidates=self.rated[:specialists],
            ratings=ratings[:specialists],
            selected=selected,
            in_equilibrium=[number for number in self.in_equilibrium if number < specialists],
        )


def _rating(text: str) -> str:
    """Reduce the reply to a rating to its first number, 0 to 10, without a fraction of a point lost upwards."""
    found = _NUMBER.search(re.sub(r"(?is)<think>.*?</think>", "", text))
    if found is None or float(found.group(1)) > _HIGHEST:
        raise ModelError(
            "model_bad_response", f"A rating from 0 to 10 was asked for, the model wrote {text[:60]!r}."
        )
    return found.group(1)


def _shimmed(core: type[Any], run: _Run) -> Callable[..., Any]:
    """Return the core's class with our calls, our round count and our records in it."""

    def call_api(_self: Any, messages: Any, temperature: float = 0.7, **_options: Any) -> str:
        return run.call([{"role": one["role"], "content": one["content"]} for one in messages], temperature)

    def rounds(_self: Any, _prompt: str) -> int:
        return 1

    def evaluate(self: Any, prompt: str, responses: Any) -> Any:
        rated = list(responses)
        matrix = core._evaluate_response_utility(self, prompt, responses)
        run.record_ratings(rated, matrix)
        return matrix

    def equilibrium(self: Any, matrix: Any) -> Any:
        found = core._find_nash_equilibrium(self, matrix)
        run.in_equilibrium = _stable(run.matrix, [int(number) for number in found])
        return found

    return type(
        f"Shimmed{_CORE_CLASS}",
        (core,),
        {
            "_call_api": call_api,
            "_determine_thinking_rounds": rounds,
            "_evaluate_response_utility": evaluate,
            "_find_nash_equilibrium": equilibrium,
        },
    )


def _stable(matrix: Sequence[Sequence[float]], found: Sequence[int]) -> list[int]:
    """Keep what really is an equilibrium: the core falls back to the best average without saying so.

    A text is one when every other voice rates it highest.
    """
    voices = range(len(matrix))
    return [
        text
        for text in found
        if all(max(matrix[voice]) <= matrix[voice][text] for voice in voices if voice != text)
    ]


def _folder(checkout: str) -> Path:
    return Path(checkout).expanduser() if checkout.strip() else vendored_checkout()


def _core_class(folder: Path) -> type[Any]:
    """Import the core from a checkout, once for each state of its files.

    Raises:
        ModelError: `necort_absent` or `necort_broken`.
    """
    files = [folder / f"{name}.py" for name in (_BASE_MODULE, _NASH_MODULE)]
    try:
        key = (str(folder.resolve()), files[0].stat().st_mtime, files[1].stat().st_mtime)
    except OSError as error:
        raise ModelError(
            "necort_absent",
            "The necort core is not there.",
            "Fetch it as docs/necort_deps.md says, set [subagent] necort_path, or use the engine manual.",
        ) from error
    with _import_lock:
        if key not in _loaded:
            _loaded[key] = _import(*files)
        return _loaded[key]


def _import(base: Path, nash: Path) -> type[Any]:
    with _flat_names():
        try:
            modules = [_module(_BASE_MODULE, base), _module(_NASH_MODULE, nash)]
        except Exception as error:  # foreign code may raise anything while it is imported
            raise _broken(f"it does not import ({type(error).__name__}: {error})") from error
    core = getattr(modules[1], _CORE_CLASS, None)
    if not isinstance(core, type) or any(not hasattr(core, name) for name in _NEEDED_METHODS):
        raise _broken(f"it has no {_CORE_CLASS} with the methods this adapter needs")
    for module in modules:
        vars(module).setdefault("datetime", datetime.datetime)
        vars(module)["print"] = _silent
    return core


def _silent(*_values: object, **_options: object) -> None:
    """Take the place of `print` in the core."""


def _module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no loader for {name}")
    module = importlib.util.module_from_spec(spec)
    vars(module)["print"] = _silent
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def _flat_names() -> Iterator[None]:
    """Let the core find its sibling by its flat name, and the packages it imports without using them."""
    stand_ins = [
        name for name in _UNUSED if name not in sys.modules and importlib.util.find_spec(name) is None
    ]
    touched = (*stand_ins, _BASE_MODULE, _NASH_MODULE)
    before = {name: sys.modules.get(name) for name in touched}
    for name in stand_ins:
        sys.modules[name] = ModuleType(name)
    try:
        yield
    finally:
        for name in touched:
            former = before[name]
            if former is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = former


def _broken(fault: str) -> ModelError:
    return ModelError(
        "necort_broken",
        f"The necort core cannot be used: {fault}.",
        "Use the engine manual, or check the checkout.",
    )
