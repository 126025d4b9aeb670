"""Hosts that live for a whole run of the tests: a warm parent costs half a second."""

from collections.abc import Iterator

import pytest

from tests.unit.kernels.kernel_plans import SMALL
from treewright.kernels.forked import ForkedHost


@pytest.fixture(scope="session")
def forked() -> Iterator[ForkedHost]:
    """A host of forked kernels with small limits."""
    with ForkedHost(limits=SMALL, preload=["pytest"]) as host:
        yield host
