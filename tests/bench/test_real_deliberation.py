"""A whole session of each engine with a real 0.5B model: what recorded answers cannot prove. Minutes each; part of `make soak`."""

import json
from pathlib import Path

import pytest

from tests.bench.deliberate_models import STAND_IN, session
from tests.bench.fetch_models import models_folder
from treewright.models.local import LocalProvider, LocalSettings

MODEL = models_folder() / "q05.gguf"  # found at import, while the real home is still in place

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(1800),
    pytest.mark.may_skip_in_ci("the model file of 491 MB is not fetched there"),
    pytest.mark.skipif(
        not MODEL.exists(), reason=f"no real model at {MODEL}: run python tests/bench/fetch_models.py q05"
    ),
]


@pytest.mark.requirement("deliberation:real-model:engines")
@pytest.mark.parametrize("engine", ["serial", "manual", "nash", "necort"])
def test_a_session_of_one_stage_ends_finalised(engine: str, tmp_path: Path) -> None:
    provider = LocalProvider(LocalSettings(path=MODEL, context_tokens=4096, slots=1))
    document = session(provider, engine, ["Analysis"], str(STAND_IN), tmp_path)
    assert document is not None
    assert document["status"] == "finalized"
    [thought] = document["thoughts"]
    assert thought["committed"] and thought["content"].strip()
    rounds = thought["critique_rounds"] if engine == "serial" else thought["specialist_rounds"]
    assert rounds, "nothing was thought"
    if engine != "serial":
        assert {one["agent_role"] for one in rounds} == {"Analysis", "Creativity", "Skeptic"}
        assert sum(one["was_selected"] for one in rounds) == 1
    assert json.dumps(document)
