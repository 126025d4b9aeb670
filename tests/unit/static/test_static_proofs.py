"""Edits proven once are taken again for the same content, and never where the text differs."""

from pathlib import Path

from treewright.performers.static.audit import conclude, establish, read_sources
from treewright.performers.static.finding import Finding
from treewright.performers.static.proofs import Proofs

CODE = "import yaml\n\n\ndef load(stream):\n    return yaml.load(stream, Loader=yaml.Loader)\n"


def _found(folder: Path, proofs: Proofs) -> Finding:
    sources = read_sources(folder)
    audit = conclude(sources, establish(sources, workers=1), proofs)
    return next(f for f in audit.findings if f.verdict == "CONFIRMED" and f.edits)


def test_an_edit_proven_before_is_the_same_the_second_time(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text(CODE, encoding="utf-8")
    kept = tmp_path / "edits.json"
    first = _found(tmp_path / "code", Proofs(kept))
    assert kept.is_file()
    proofs = Proofs(kept)
    second = _found(tmp_path / "code", proofs)
    assert (second.edits, second.scores, second.verdict) == (first.edits, first.scores, first.verdict)
    assert not proofs.changed


def test_a_kept_edit_whose_old_text_does_not_stand_there_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text(CODE, encoding="utf-8")
    kept = tmp_path / "edits.json"
    _found(tmp_path / "code", Proofs(kept))
    kept.write_text(kept.read_text(encoding="utf-8").replace("yaml.load", "os.remove"), encoding="utf-8")
    assert all("os.remove" not in edit.new for edit in _found(tmp_path / "code", Proofs(kept)).edits)


def test_a_damaged_file_of_proofs_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "edits.json").write_text("[broken", encoding="utf-8")
    assert _found(tmp_path / "code", Proofs(tmp_path / "edits.json")).edits_verified
