"""The Jupyter seam: real clients, the provisioner, and numbers checked in a kernel."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

from tests.unit.kernels.kernel_plans import SMALL
from treewright.kernels import provisioner
from treewright.kernels.forked import ForkedHost
from treewright.kernels.lean import LeanClient
from treewright.kernels.numeric import NumericStatus, evaluate_numeric


class Only(KernelSpecManager):
    """Knows one kernelspec, which asks for the provisioner."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The one."""
        metadata = {"kernel_provisioner": {"provisioner_name": provisioner.NAME, "config": {}}}
        return KernelSpec(argv=[], display_name="Forked", language="python", metadata=metadata)


@pytest.fixture
def registered() -> Iterator[None]:
    """The provisioner known to jupyter_client, its parents ended afterwards."""
    provisioner.register()
    yield
    provisioner.close_zygotes()


async def _use(manager: AsyncKernelManager) -> list[object]:
    """Start, execute, interrupt, restart, end; what was seen on the way."""
    await manager.start_kernel()
    client = manager.client()
    client.start_channels()
    seen: list[object] = []
    try:
        await client.wait_for_ready(timeout=15)
        printed: list[str] = []
        reply = await client.execute_interactive(
            "print(6 * 7)",
            timeout=10,
            allow_stdin=False,
            output_hook=lambda message: printed.append(message["content"].get("text", "")),
        )
        seen += [reply["content"]["status"], "".join(printed), await manager.is_alive()]
        client.execute("import time\nprint('begun', flush=True)\ntime.sleep(30)")
        # An interrupt before the cell has begun can cost a kernel its reply, Jupyter's own as well.
        while (await client.get_iopub_msg(timeout=5))["content"].get("text") != "begun\n":
            continue
        await manager.interrupt_kernel()
        seen.append((await client.get_shell_msg(timeout=10))["content"].get("ename"))
        await manager.restart_kernel(now=True)
        await client.wait_for_ready(timeout=15)
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
    seen.append(await manager.is_alive())
    return seen


@pytest.mark.requirement("kernels:jupyter:provisioner")
@pytest.mark.parametrize("transport", ["ipc", "tcp"])
def test_jupyters_own_manager_and_client_work_with_forked_kernels(
    registered: None, transport: str, isolated_home: Path
) -> None:
    manager = AsyncKernelManager(kernel_spec_manager=Only(), kernel_name="forked", transport=transport)
    if transport == "ipc":
        manager.ip = str(isolated_home / "k")
    assert asyncio.run(_use(manager)) == ["ok", "42\n", True, "KeyboardInterrupt", False]


@pytest.mark.requirement("kernels:jupyter:protocol")
def test_a_forked_kernel_speaks_the_jupyter_protocol(forked: ForkedHost) -> None:
    live = forked.fresh(iopub=True)
    try:
        request = live.client.request("kernel_info_request", {})
        reply = live.client.reply(request, 5)
        assert reply is not None
        assert reply["content"]["protocol_version"].startswith("5")
        assert reply["content"]["implementation"] == "ipython"
        request = live.client.execute("x = 5\nprint('text')\nx")
        assert live.client.iopub is not None
        kinds = []
        while "idle" not in kinds and live.client.iopub.poll(5000):
            message = live.client.read(live.client.iopub)
            if message and message["parent_header"].get("msg_id") == request:
                kinds.append(message["content"].get("execution_state") or message["msg_type"])
        assert kinds == ["busy", "execute_input", "stream", "execute_result", "idle"] or (
            set(kinds) == {"busy", "execute_input", "stream", "execute_result", "idle"}
        )
        reply = live.client.reply(request, 5)
        assert reply is not None
        assert reply["content"]["execution_count"] == 1
        completed = live.client.request("complete_request", {"code": "x.bit_le", "cursor_pos": 8})
        reply = live.client.reply(completed, 5)
        assert reply is not None
        assert "bit_length" in str(reply["content"]["matches"])
    finally:
        live.close()


@pytest.mark.requirement("kernels:jupyter:wrong-key")
def test_a_client_with_another_key_is_not_answered(forked: ForkedHost) -> None:
    live = forked.fresh(iopub=True)
    try:
        stranger = LeanClient({**live.kernel.connection, "key": "0" * 48})
        request = stranger.execute("1")
        assert stranger.reply(request, 0.3) is None
        stranger.close()
        assert live.client.reply(live.client.execute("1"), 5) is not None
    finally:
        live.close()


@pytest.fixture(scope="module")
def numbers() -> Iterator[ForkedHost]:
    """A host for numeric checks."""
    limits = SMALL.model_copy(update={"memory_bytes": 1 << 30})
    with ForkedHost(limits=limits, preload=["numpy", "sympy"]) as host:
        yield host


@pytest.mark.requirement("kernels:numeric:compared")
@pytest.mark.parametrize(
    ("expression", "claimed", "status"),
    [
        ("2 ** 10", 1024, NumericStatus.HOLDS),
        ("2 ** 10", 1025, NumericStatus.DIFFERS),
        ("2 ** 200", 2**200 + 1, NumericStatus.DIFFERS),
        ("sqrt(2)", "2 ** 0.5", NumericStatus.HOLDS),
        ("0.1 + 0.2", 0.3, NumericStatus.HOLDS),
        ("comb(52, 5)", 2598960, NumericStatus.HOLDS),
        ("Fraction(1, 3)", "1 / 3", NumericStatus.HOLDS),
        ("np.mean([1, 2, 3])", 2, NumericStatus.HOLDS),
        ("integrate(Symbol('x') ** 2, (Symbol('x'), 0, 3))", 9, NumericStatus.HOLDS),
        ("[1, 2.5]", "[1, 2.5]", NumericStatus.HOLDS),
        ("1 < 2", True, NumericStatus.HOLDS),
        ("exp(1000)", 1, NumericStatus.NOT_EVALUATED),
        ("1 / 0", 0, NumericStatus.NOT_EVALUATED),
        ("undefined + 1", 1, NumericStatus.NOT_EVALUATED),
        ("while True", 1, NumericStatus.NOT_EVALUATED),
        ("nan", "nan", NumericStatus.DIFFERS),
    ],
)
def test_a_claimed_number_is_evaluated_and_compared(
    numbers: ForkedHost, expression: str, claimed: "str | float", status: NumericStatus
) -> None:
    outcome = evaluate_numeric(numbers, expression, claimed)
    assert outcome.status is status, outcome
    assert bool(outcome.reason) == (status is NumericStatus.NOT_EVALUATED)


@pytest.mark.requirement("kernels:numeric:sandboxed")
@pytest.mark.parametrize(
    "expression", ["__import__('os')._exit(0)", "10 ** 10 ** 9", "[0] * 10 ** 11", "input()"]
)
def test_an_expression_that_attacks_is_only_not_evaluated(numbers: ForkedHost, expression: str) -> None:
    outcome = evaluate_numeric(numbers, expression, 1, wall_s=1.0)
    assert outcome.status is NumericStatus.NOT_EVALUATED
    assert outcome.reason
