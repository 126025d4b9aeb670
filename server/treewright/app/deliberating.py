"""The providers of deliberations: the configured ones and those that a session names, each behind the spend cap."""

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from treewright.app.context import Context
from treewright.app.spending import LedgerGate
from treewright.store.cap import deliberate_policy
from treewright.store.ledger import Ledger

if TYPE_CHECKING:
    from treewright.app.deliberation import MakeProvider
    from treewright.deliberate.ports import Endpoint
    from treewright.models.provider import Provider

_MEMORY_FILE = "endpoints.json"


def provider_maker(context: Context) -> "MakeProvider":
    """Return what makes the providers of deliberations. Nothing is imported or sent before one is made.

    What this process spends on deliberations is one account under `[deliberate] spend_cap_usd` (contract: search, 5).
    """
    account = f"deliberate-{secrets.token_hex(6)}"

    def make(endpoint: "Endpoint | None") -> "Provider":
        from treewright.app.providers import models_settings, refuse_unknown_price
        from treewright.models.memory import EndpointMemory
        from treewright.models.registry import Surroundings
        from treewright.performers.deliberation import endpoint_provider

        configuration = context.configuration()
        ledger = Ledger(configuration.root.ledger)
        around = Surroundings(
            environment=context.environ if context.environ is not None else dict(os.environ),
            handed_keys=context.keys,
            ask_editor=context.ask_editor,
            memory=EndpointMemory(configuration.root.cache / _MEMORY_FILE),
            gate=LedgerGate(ledger, account, deliberate_policy(configuration)),
            models_folder=Path(configuration.root.folder / "models"),
        )
        provider = endpoint_provider(endpoint, models_settings(configuration), around)
        refuse_unknown_price(provider)
        return provider

    return make
