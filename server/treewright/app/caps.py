"""The spend cap as surfaces use it: the ledger below the root, under the search policy of the configuration."""

from treewright.app.context import Context
from treewright.store.cap import CapAnswer, CapPolicy, search_policy
from treewright.store.ledger import Ledger


def ledger_of(context: Context) -> tuple[Ledger, CapPolicy]:
    """Return the ledger and the policy of code-branch searches.

    Raises:
        StoreError: a configuration file is at fault.
    """
    configuration = context.configuration()
    return Ledger(configuration.root.ledger), search_policy(configuration)


def reserve(context: Context, run: str, estimate: str) -> CapAnswer:
    """Hold an amount for a run. See `Ledger.reserve`."""
    ledger, policy = ledger_of(context)
    return ledger.reserve(run, estimate, policy)


def settle(context: Context, run: str, reservation: str, actual: str, *, failed: bool) -> CapAnswer:
    """Charge what was spent and release the hold. See `Ledger.settle`."""
    ledger, policy = ledger_of(context)
    return ledger.settle(run, reservation, actual, policy, failed=failed)


def status(context: Context, run: str) -> CapAnswer:
    """Return what a run has spent and holds."""
    ledger, policy = ledger_of(context)
    return ledger.status(run, policy)


def reset(context: Context, run: str) -> CapAnswer:
    """Forget what a run has spent and holds."""
    ledger, policy = ledger_of(context)
    return ledger.reset(run, policy)


def config(context: Context) -> CapAnswer:
    """Return the policy that holds."""
    ledger, policy = ledger_of(context)
    return ledger.config(policy)
