"""Hosts that live for a whole test module: a warm parent costs half a second."""

from collections.abc import Iterator

import pytest
from treewright.kernels.forked import ForkedHost
from treewright.kernels.limits import Limits


@pytest.fixture(scope="session")
def forked() -> Iterator[ForkedHost]:
    """A host of forked kernels with small limits."""
    limits = Limits(memory_bytes=256 << 20, output_bytes=64 << 10, processes=12, file_bytes=1 << 20)
    with ForkedHost(limits=limits) as host:
        yield host
