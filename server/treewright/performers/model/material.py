"""What the root offers to quote: the artifact, the code with what static analysis knows of it, or the project's notes.

Everything is read once a run; which part a task is shown depends on the task alone, so that a run that is cut off asks the same again.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from treewright.explore.focus import locate
from treewright.explore.tasks import Brief, GroundResult, TaskKind
from treewright.performers.model.evidence import Document, Excerpt, Span, around, chunks, cost, merged
from treewright.performers.model.shapes import children_of
from treewright.performers.model.small import line_signs
from treewright.performers.model.surroundings import Note, function_notes, notes_in, test_texts
from treewright.performers.static.languages import SUFFIXES
from treewright.presets.framings import LETTERS
from treewright.tree.citation import Citation
from treewright.tree.run import RootSpec
from treewright.workspace.citations import CitationChecker
from treewright.workspace.decode import Unreadable, read_source, split_lines
from treewright.workspace.walk import list_sources

NOTES_SUFFIXES = (".md", ".rst", ".txt")
NOTES_MOST = 12
"""Files of a project that a topic or design prompt may quote."""
NOTE_BYTES_MOST = 200_000
FOCUS_MARGIN = 20
"""Lines of context around a focus (contract: exploration, 9)."""
_CODE = frozenset(
    [
        ".py",
        ".pyw",
        ".js",
        ".mjs",
        ".cjs",
        ".jsx",
        ".ts",
        ".tsx",
        ".go",
        ".rs",
        ".java",
        ".kt",
        ".c",
        ".h",
        ".cc",
        ".cpp",
        ".hpp",
        ".cs",
        ".rb",
        ".php",
        ".swift",
        ".scala",
        ".sh",
        ".sql",
        ".lua",
        ".pl",
    ]
)
_ALL = 1 << 40
"""More tokens than any root has: cuts each document into one piece."""
_FIRST_NOTES = ("readme", "notes", "todo", "changelog", "contributing")


@dataclass(frozen=True, slots=True)
class Lead:
    """A fact that static analysis established, with its place: what a small model should talk about.

    Attributes:
        framing: that asks for it; empty for a fact about a function that is shown.
        text: the fact.
        span: the lines around it.
        line: its own first line.
    """

    framing: str
    text: str
    span: Span
    line: int = 0


@dataclass(slots=True)
class Material:
    """The documents of a root.

    Attributes:
        spec: the root.
        documents: by path relative to the workspace.
        focus: the part of an artifact that is attacked; None for all of it.
        leads: static findings, for code.
        ground: the root as static analysis filled it in, for code.
        unread: what could not be read, and why.
        notes: what the static index knows of each function, for code.
    """

    spec: RootSpec
    documents: dict[str, Document] = field(default_factory=dict)
    focus: Span | None = None
    leads: list[Lead] = field(default_factory=list)
    ground: GroundResult | None = None
    unread: list[dict[str, str]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    _pieces: dict[int, list[Span]] = field(default_factory=dict)
    _size: int = -1

    def pieces(self, most_tokens: int) -> list[Span]:
        """Return everything, cut into spans of at most `most_tokens`."""
        found = self._pieces.get(most_tokens)
        if found is None:
            if self.focus is not None:
                found = chunks(self.documents[self.focus.path], most_tokens, self.focus)
            else:
                found = [
                    span for document in self.documents.values() for span in chunks(document, most_tokens)
                ]
            self._pieces[most_tokens] = found
        return found

    def size(self) -> int:
        """Return about how many tokens everything takes."""
        if self._size < 0:
            self._size = cost(self.documents, self.pieces(_ALL))
        return self._size

    def excerpt(self, brief: Brief, most_tokens: int) -> Excerpt:
        """Return the part that a task is shown, the most telling first, as much as fits."""
        single = len(self.documents) == 1
        if self.size() <= most_tokens:
            return Excerpt(self.documents, merged(self.pieces(_ALL)), single)
        chosen: list[Span] = []
        used = 0
        for span in self._wanted(brief, most_tokens):
            taken = merged([*chosen, span])
            used = cost(self.documents, taken)
            if used > most_tokens and chosen:
                continue
            chosen = taken
        return Excerpt(self.documents, _cut_to(self.documents, chosen, most_tokens), single)

    def _wanted(self, brief: Brief, most_tokens: int) -> list[Span]:
        task = brief.task
        found: list[Span] = []
        if brief.proposal is not None:
            found += self._at(brief.proposal.citations, 8)
        if task.kind is TaskKind.PROPOSE:
            found += [lead.span for lead in self.leads_for(brief)]
        if brief.lineage:
            found += self._at(brief.lineage[-1].evidence, 8)
        pieces = self.pieces(max(120, most_tokens // 2))
        if brief.proposal is not None:
            found += _nearest(self.documents, pieces, brief.proposal.statement)
        elif pieces:
            letter = LETTERS.find(task.framing) if task.framing else 0
            first = (max(0, letter) + task.attempt - 1) % len(pieces)
            found += [*pieces[first:], *pieces[:first]]
        return found

    def leads_for(self, brief: Brief) -> list[Lead]:
        """Return the static findings that a task should talk about: its framing's, else those of its place."""
        if brief.proposal is not None:
            wanted = self._at(brief.proposal.citations, 0)
            return [
                lead
                for lead in self.leads
                if any(lead.span.path == at.path and at.start <= lead.line <= at.end for at in wanted)
            ][:2]
        own = [lead for lead in self.leads if lead.framing == brief.task.framing]
        at = (brief.task.attempt - 1) * 2
        return own[at : at + 3] or own[:3]

    def places_for(self, brief: Brief, excerpt: Excerpt) -> frozenset[tuple[str, int]]:
        """Return the only places that a small model may choose for a proposal; empty for any.

        Of code those that static analysis found for the framing. Of a text as many lines as the framing is to attack, others for each
        framing and attempt, and those first on which it has most to say: left to itself, such a model takes the same line every time.
        """
        task = brief.task
        if self.spec.kind != "artifact":
            return frozenset(
                (at.span.path, at.line) for at in self.leads_for(brief) if at.framing == task.framing
            )
        places = excerpt.places()
        start = max(0, LETTERS.find(task.framing)) * len(places) // len(LETTERS)
        near = [*places[start:], *places[:start]]
        telling = line_signs(brief)
        if telling is not None:
            near.sort(key=lambda place: not telling.search(self.documents[place[0]].lines[place[1] - 1]))
        count = min(
            children_of(brief), len(near)
        )  # one more would be a choice, and the choice is always the same line
        passed = (task.attempt - 1) * count
        return frozenset(near[(passed + step) % len(near)] for step in range(count))

    def facts_for(self, brief: Brief, excerpt: Excerpt) -> list[Lead]:
        """Return the findings that a task should talk about, and what the index knows of the functions it is shown."""
        near = self._at(brief.proposal.citations, 0) if brief.proposal is not None else excerpt.spans
        notes = [Lead("", note.text, note.span, note.span.start) for note in notes_in(self.notes, near)]
        return [*self.leads_for(brief), *notes]

    def _at(self, citations: list[Citation], margin: int) -> list[Span]:
        return [
            around(self.documents[c.path], c.start, c.end, margin)
            for c in citations
            if c.path in self.documents and c.start
        ]


def _cut_to(documents: dict[str, Document], spans: list[Span], most_tokens: int) -> list[Span]:
    """Shorten the last spans until all fit: one span alone may be longer than the room there is."""
    kept: list[Span] = []
    left = most_tokens
    for span in spans:
        end = span.start - 1
        for number in range(span.start, span.end + 1):
            left -= cost(documents, [Span(span.path, number, number)])
            if left < 0 and (kept or end >= span.start):
                break
            end = number
        if end >= span.start:
            kept.append(Span(span.path, span.start, end))
        if left < 0:
            break
    return kept


def _nearest(documents: dict[str, Document], pieces: list[Span], statement: str) -> list[Span]:
    """Return pieces by how many words they share with a statement, the closest first."""
    words = set(re.findall(r"\w{4,}", statement.casefold()))

    def shared(span: Span) -> int:
        text = " ".join(documents[span.path].lines[span.start - 1 : span.end]).casefold()
        return sum(1 for word in words if word in text)

    return sorted(pieces, key=lambda span: -shared(span))


def read_material(spec: RootSpec, seeds: str = "") -> Material:
    """Read what a root offers; blocking, for a worker thread.

    Args:
        spec: the root.
        seeds: the prior deliverable that a run was seeded with; it and the report beside it come first.
    """
    workspace = Path(spec.workspace)
    material = Material(spec)
    for path in _prior(Path(seeds), workspace) if seeds else []:
        _take(material, path, path.relative_to(workspace).as_posix())
    if spec.kind == "artifact":
        _take(material, workspace / spec.path, spec.path)
        document = material.documents.get(spec.path)
        place = locate(document.lines, spec.focus) if document and spec.focus else None
        if document and place:
            material.focus = around(document, *place, FOCUS_MARGIN)
    elif spec.kind == "code":
        _take_code(material, workspace)
    elif spec.workspace:
        for path in _notes(workspace):
            _take(material, path, path.relative_to(workspace).as_posix())
    return material


def _prior(seeds: Path, workspace: Path) -> list[Path]:
    """Return a prior deliverable and its report, as far as they lie in the workspace and can be cited."""
    files = [seeds, seeds.with_name("prior-report.md"), seeds.with_name("REPORT.md")]
    return [path for path in files if path.is_file() and path.is_relative_to(workspace)][:2]


def _take(material: Material, path: Path, name: str) -> None:
    read = read_source(path)
    if isinstance(read, Unreadable):
        material.unread.append({"path": name, "reason": read.detail or read.reason})
    elif read.text.strip():
        lines = split_lines(read.text)
        material.documents[name] = Document(name, tuple(lines[:-1] if lines[-1] == "" else lines))


def _notes(workspace: Path) -> list[Path]:
    """Return a project's texts that say what it is about: the top folder's and `docs`', README first."""
    found: list[Path] = []
    for folder in (workspace, workspace / "docs"):
        try:
            entries = sorted(folder.iterdir(), key=lambda entry: (_rank(entry.name), entry.name.lower()))
        except OSError:
            continue
        found += [entry for entry in entries if _is_note(entry)]
    return found[:NOTES_MOST]


def _rank(name: str) -> int:
    stem = name.lower()
    return next((n for n, first in enumerate(_FIRST_NOTES) if stem.startswith(first)), len(_FIRST_NOTES))


def _is_note(path: Path) -> bool:
    if path.suffix.lower() not in NOTES_SUFFIXES or path.name.startswith(".") or path.is_symlink():
        return False
    try:
        return path.is_file() and path.stat().st_size <= NOTE_BYTES_MOST
    except OSError:
        return False


def _take_code(material: Material, workspace: Path) -> None:
    target = workspace / material.spec.path
    try:
        listing = list_sources(target, _CODE)
    except FileNotFoundError:
        material.unread.append({"path": material.spec.path, "reason": "it is gone"})
        return
    for file in listing.files:
        _take(material, file.path, Path(os.path.relpath(file.path, workspace)).as_posix())
    if target.is_file() and not material.documents:
        _take(material, target, material.spec.path)
    material.unread += [{"path": each.relative, "reason": each.reason} for each in listing.skipped][:200]
    if any(Path(path).suffix.lower() in SUFFIXES for path in material.documents):
        _take_static(material, workspace, target)


def _take_static(material: Material, workspace: Path, target: Path) -> None:
    """Add what the static performer knows: root fields, and findings by framing."""
    from treewright.performers.static.audit import conclude, establish, read_sources
    from treewright.performers.static.body import Located
    from treewright.performers.static.ground import ground

    sources = read_sources(target)
    if not sources.texts:
        return
    facts = establish(sources)
    audit = conclude(sources, facts)
    at = Located(Path(os.path.relpath(sources.root, workspace)).as_posix())
    material.ground = ground(sources, facts, audit, at)
    for item in audit.findings:
        path = at.path(item.position.path)
        document = material.documents.get(path)
        if document is None:
            continue
        guard = "; ".join(each.why for each in item.mitigations) or "no guard was found"
        text = f"{path}:{item.position.start} {item.statement} Reached by: {item.entry or 'its callers'}; {guard}."
        material.leads.append(
            Lead(
                item.framing,
                text,
                around(document, item.position.start, item.position.end, 6),
                item.position.start,
            )
        )
    rename = {path: name for path in facts if (name := at.path(path)) in material.documents}
    material.notes = function_notes(facts, rename, test_texts(workspace))


def holding(workspace: str, citations: list[Citation]) -> list[Citation]:
    """Return the file citations that hold, with the lines that checking found."""
    checker = CitationChecker(Path(workspace))
    checked = [checker.check(c) for c in citations if c.kind == "file"]
    return [c.citation for c in checked if c.state.holds]
