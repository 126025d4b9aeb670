"""Kernels that a user or an agent works in, as the configuration allows them."""

from pathlib import Path

from treewright.app.context import Context
from treewright.kernels.limits import Limits
from treewright.kernels.operations import InstallPolicy, KernelOperations, OperationSettings


def kernel_operations(context: Context) -> KernelOperations:
    """Return the six kernel operations; no kernel is started yet.

    Raises:
        StoreError: the configuration is at fault.
        KernelError: E052, kernels are not to be had.
    """
    section = context.configuration().settings.kernels
    limits = Limits(
        memory_bytes=section.memory_mb << 20,
        cpu_s=None,  # a session lives on: each execution has a wall clock of its own, not one for all of them
        processes=section.processes,
        file_bytes=section.file_mb << 20,
        output_bytes=section.output_kb << 10,
        network=section.network,
    )
    policy = InstallPolicy(
        enabled=section.allow_install,
        allowed=section.install_allow_list,
        wheels=Path(section.wheel_folder).expanduser() if section.wheel_folder else None,
    )
    settings = OperationSettings(idle_timeout_s=section.idle_timeout_s, limits=limits, install=policy)
    return KernelOperations(settings)
