"""Treewright: the one facade that every surface calls."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewright.app import caps, explorations, validation
from treewright.app import runs as looking
from treewright.app.context import Context
from treewright.app.explorations import Growing
from treewright.app.request import ExplorationRequest, ResumeRequest
from treewright.app.search_request import SearchRequest, SearchResumeRequest
from treewright.app.validation import ValidationReport
from treewright.presets.loader import PresetSummary, list_presets
from treewright.store.cap import CapAnswer
from treewright.store.index import IndexEntry

if TYPE_CHECKING:
    from treewright.app.chains import Chain, ChainRequest
    from treewright.app.deliberation import DeliberationDesk, Told
    from treewright.app.looking import Look
    from treewright.app.search_drive import Searching
    from treewright.explore.glossary import Ask
    from treewright.models.provider import EditorCall


class Treewright:
    """Everything a user can do, whatever the surface."""

    def __init__(
        self,
        surface: str,
        environ: Mapping[str, str] | None = None,
        *,
        ask_editor: "EditorCall | None" = None,
        keys: Mapping[str, str] | None = None,
        here: Callable[[], Iterable[Path]] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Take a surface's name.

        Args:
            surface: `cli`, `lsp` or `mcp`; told to whoever meets a lock of ours.
            environ: environment variables; None takes the process's own.
            ask_editor: asks the editor's own model; None without one.
            keys: keys of endpoints by name, from the editor's secret storage.
            here, tell: see `Context`.
        """
        self.context = Context(surface, environ, ask_editor, {} if keys is None else keys, here, tell)

    def start(self, request: ExplorationRequest, ask: "Ask | None" = None) -> Growing:
        """Prepare a new exploration; `drive` it then. Raises before anything is written, see `explorations.start`."""
        return explorations.start(self.context, request, ask)

    def resume(self, request: ResumeRequest) -> Growing:
        """Open a run to go on with; `drive` it then. See `explorations.resume`."""
        return explorations.resume(self.context, request)

    def search(self, request: SearchRequest) -> "Searching":
        """Prepare a code-branch search; `drive` it then. Raises before anything is written, see `searches.start`."""
        from treewright.app import searches

        return searches.start(self.context, request)

    def search_fix(
        self,
        run: str,
        node: str,
        *,
        model: str = "",
        time_limit_s: float | None = None,
        spend_cap_usd: float | None = None,
        checks: tuple[str, ...] = (),
    ) -> "Searching":
        """Prepare a search for a verified fix of a finding; `drive` it then. See `search_fix.fix_for_finding`."""
        from treewright.app.search_fix import fix_for_finding

        return fix_for_finding(
            self.context,
            run,
            node,
            model=model,
            time_limit_s=time_limit_s,
            spend_cap_usd=spend_cap_usd,
            checks=checks,
        )

    def resume_search(self, request: SearchResumeRequest) -> "Searching":
        """Open a search to go on with; `drive` it then. See `searches.resume`."""
        from treewright.app import searches

        return searches.resume(self.context, request)

    def apply_search(self, run: str) -> Path:
        """Write a search's verified program to the file it started from. See `search_apply.apply`."""
        from treewright.app.search_apply import apply

        return apply(self.context, run)

    def start_chain(self, request: "ChainRequest") -> "Chain":
        """Prepare a new chain; `drive` it then. See `chain_open.start_chain`."""
        from treewright.app.chain_open import start_chain

        return start_chain(self.context, request)

    def chain_of(self, run: str, *, model: str = "", spend_cap_usd: float | None = None) -> "Chain | None":
        """Open a chain to go on with; None when the run is no chain. See `chain_open.resume_chain`."""
        from treewright.app.chain_open import is_chain, resume_chain

        folder = looking.find_run(self.context, run).folder
        if not is_chain(folder):
            return None
        return resume_chain(self.context, folder, model=model, spend_cap_usd=spend_cap_usd)

    def stop(self, run: str, reason: str = "") -> str:
        """Ask whoever drives a run to stop it, and return who that is. See `runs.stop_run`."""
        return looking.stop_run(self.context, run, reason)

    def runs(self, workspace: Path | None = None) -> list[IndexEntry]:
        """Return known runs and sessions, the latest first."""
        return looking.list_runs(self.context, workspace)

    def view(self, run: str) -> looking.RunView:
        """Open a run to look at. See `runs.RunView`."""
        return looking.RunView(self.context, run)

    def deliberation(self) -> "DeliberationDesk":
        """Return a desk with every tool of deliberation and no model; use it as a context manager."""
        from treewright.app.deliberation import DeliberationDesk

        return DeliberationDesk(self.context)

    def driven_deliberation(
        self, model: str, spend_cap_usd: float | None = None, told: "Told | None" = None
    ) -> "DeliberationDesk":
        """Return a desk whose autopilot is on with a model; `autopilot.drive_session` thinks a session through.

        Args:
            model: a provider's name or specification; empty for the configured one.
            spend_cap_usd: None takes the configuration's.
            told: hears of each step.

        Raises:
            ModelError: `no_model`.
        """
        from treewright.app.autopilot import driving_context, driving_desk

        return driving_desk(driving_context(self.context, model, spend_cap_usd), told)

    def look(self, run: str) -> "Look":
        """Open a run of any kind, or a session, to look at. See `looking.look_at`."""
        from treewright.app.looking import look_at

        return look_at(self.context, run)

    def kind(self, run: str) -> str:
        """Return a run's kind: `exploration`, `search` or `deliberation`."""
        from treewright.app.looking import kind_of

        return kind_of(self.context, run)

    def presets(self) -> list[PresetSummary]:
        """Return the shipped presets and the user's."""
        return list_presets(self.context.configuration().root.folder)

    def recover(self, run: str) -> dict[str, Any]:
        """Repair a run's damaged journal, keeping the original beside it. See `runs.recover`."""
        return looking.recover(self.context, run)

    def validate(self, paths: list[Path]) -> ValidationReport:
        """Check presets, profiles, lenses, framings and document pairs. See `validation.validate`."""
        return validation.validate(self.context, paths)

    def cap_reserve(self, run: str, estimate: str) -> CapAnswer:
        """Hold an amount for a run. See `Ledger.reserve`."""
        return caps.reserve(self.context, run, estimate)

    def cap_settle(self, run: str, reservation: str, actual: str, *, failed: bool = False) -> CapAnswer:
        """Charge what was spent and release the hold. See `Ledger.settle`."""
        return caps.settle(self.context, run, reservation, actual, failed=failed)

    def cap_status(self, run: str) -> CapAnswer:
        """Return what a run has spent and holds."""
        return caps.status(self.context, run)

    def cap_reset(self, run: str) -> CapAnswer:
        """Forget what a run has spent and holds."""
        return caps.reset(self.context, run)

    def cap_config(self) -> CapAnswer:
        """Return the cap that holds, and whether anybody set it."""
        return caps.config(self.context)
