"""The rules that a preset file must keep, one function each; the table of ids is `data/presets/rules.toml`."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from treewright.presets.body import Section
from treewright.presets.fault import Fault, Mark, fault_at
from treewright.presets.preset_file import LETTERS, NOTES, SECTIONS, PresetFile
from treewright.presets.schema import DIM_COUNT, FIELD_COUNT

_IDENTIFIER = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
_DIM_KEY = re.compile(r"[A-Za-z]{1,3}\Z")
_ARTIFACT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\.md\Z")
_EACH = re.compile(r"[A-Za-z0-9_-]*<id>[A-Za-z0-9_-]*\.md\Z")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*\Z")
_RESERVED = {"tree.md", "report.md", "glossary-anchors.md", "chain_report.md"}
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))}

PresetRule = Callable[[PresetFile], Iterator[Fault]]


def _at(file: PresetFile, mark: Mark, rule: str, message: str) -> Fault:
    return fault_at(file.path, mark, rule, message)


def name_differs_from_file(file: PresetFile) -> Iterator[Fault]:
    """E201: `name` equals the base name of the file."""
    name = file.data.get("name")
    if name is not None and name != file.base_name:
        message = f"name is {name} but the file is called {file.base_name}.md; make them equal"
        yield _at(file, file.front.mark("name"), "E201", message)
    elif name is not None and not _NAME.match(name):
        message = f"name {name} may only hold lower case letters, digits and hyphens"
        yield _at(file, file.front.mark("name"), "E201", message)


def field_is_no_identifier(file: PresetFile) -> Iterator[Fault]:
    """E202: a field name is an English identifier in snake case, whatever language the prose has."""
    for i, name in enumerate(file.data.get("node_schema", [])):
        if not _IDENTIFIER.match(name):
            message = f"field name {name} must be lower case ASCII words joined by underscores"
            yield _at(file, file.front.mark("node_schema", i), "E202", message)


def field_count_is_off(file: PresetFile) -> Iterator[Fault]:
    """E203: there are exactly 12 fields."""
    fields = file.data.get("node_schema")
    if fields is not None and len(fields) != FIELD_COUNT:
        message = f"node_schema must name exactly {FIELD_COUNT} fields, found {len(fields)}"
        yield _at(file, file.front.key_mark("node_schema"), "E203", message)


def field_is_repeated(file: PresetFile) -> Iterator[Fault]:
    """E204: field names are unique."""
    yield from _repeated(file, "node_schema", file.data.get("node_schema", []), "E204", "the field")


def dim_count_is_off(file: PresetFile) -> Iterator[Fault]:
    """E205: there are exactly 5 score dimensions."""
    dims = file.data.get("score_dims")
    if dims is not None and len(dims) != DIM_COUNT:
        message = f"score_dims must hold exactly {DIM_COUNT} dimensions, found {len(dims)}"
        yield _at(file, file.front.key_mark("score_dims"), "E205", message)


def dim_key_is_malformed(file: PresetFile) -> Iterator[Fault]:
    """E206: a dimension's key has 1 to 3 letters."""
    for i, dim in enumerate(file.data.get("score_dims", [])):
        if not _DIM_KEY.match(dim["key"]):
            message = f"the key {dim['key']} must be 1 to 3 ASCII letters"
            yield _at(file, file.front.mark("score_dims", i, "key"), "E206", message)


def dim_key_is_repeated(file: PresetFile) -> Iterator[Fault]:
    """E207: keys and names of dimensions are unique."""
    dims = file.data.get("score_dims", [])
    for part in ("key", "name"):
        seen: dict[str, int] = {}
        for i, dim in enumerate(dims):
            if dim[part] in seen:
                message = f"the {part} {dim[part]} is already used by dimension {seen[dim[part]] + 1}"
                yield _at(file, file.front.mark("score_dims", i, part), "E207", message)
            seen.setdefault(dim[part], i)


def label_is_repeated(file: PresetFile) -> Iterator[Fault]:
    """E208: each role has a label of its own, in any letter case."""
    seen: dict[str, str] = {}
    for role, label in file.data.get("verdict_enum", {}).items():
        if label.casefold() in seen:
            message = f"the label {label} already belongs to {seen[label.casefold()]}"
            yield _at(file, file.front.mark("verdict_enum", role), "E208", message)
        seen.setdefault(label.casefold(), role)


def field_is_unknown(file: PresetFile) -> Iterator[Fault]:
    """E209: what parts, rules, gates and the table name is in `node_schema`."""
    fields = file.data.get("node_schema")
    if fields is None:
        return
    named = [(file.front.mark("parts", part), name) for part, name in file.data.get("parts", {}).items()]
    named += [(file.front.key_mark("field_rules", name), name) for name in file.data.get("field_rules", {})]
    for i, gate in enumerate(file.data.get("gates", [])):
        if "field" in gate:
            named.append((file.front.mark("gates", i, "field"), gate["field"]))
    for i, name in enumerate(file.data.get("output_artifacts", {}).get("table", [])):
        named.append((file.front.mark("output_artifacts", "table", i), name))
    for mark, name in named:
        if name not in fields:
            yield _at(file, mark, "E209", f"{name} is not a field of node_schema")


def dim_is_unknown(file: PresetFile) -> Iterator[Fault]:
    """E210: what gates and the sort name is a key of `score_dims`."""
    dims = file.data.get("score_dims")
    if dims is None:
        return
    known = [dim["key"] for dim in dims]
    named = [
        (file.front.mark("gates", i, "dim"), gate["dim"])
        for i, gate in enumerate(file.data.get("gates", []))
        if "dim" in gate
    ]
    sort = file.data.get("output_artifacts", {}).get("sort_by", "score")
    named += [(file.front.mark("output_artifacts", "sort_by"), key) for key in sort_keys(sort)]
    for mark, key in named:
        if key not in known:
            yield _at(file, mark, "E210", f"{key} is not a key of score_dims; known: {', '.join(known)}")


def sort_keys(sort_by: str) -> list[str]:
    """Return the dimension keys of `S*X`; none for `score`."""
    return [] if sort_by == "score" else [key.strip() for key in sort_by.split("*")]


def artifact_name_is_unsafe(file: PresetFile) -> Iterator[Fault]:
    """E211: output files are bare `*.md` names: no folders, no `..`, none that the engine writes itself."""
    for where, name in _artifacts(file):
        pattern = _EACH if where[-1] == "each" else _ARTIFACT
        shown = "a name like option_<id>.md" if where[-1] == "each" else "a bare name that ends in .md"
        if not pattern.match(name):
            message = f"{name} must be {shown}: letters, digits, hyphens, underscores, no folder"
            yield _at(file, file.front.mark(*where), "E211", message)
        elif name.casefold() in _RESERVED or name.casefold().partition(".")[0] in _DEVICES:
            yield _at(file, file.front.mark(*where), "E211", f"{name} is a reserved name; choose another")


def _artifacts(file: PresetFile) -> list[tuple[tuple[str, ...], str]]:
    artifacts = file.data.get("output_artifacts", {})
    found = [(("output_artifacts", key), artifacts[key]) for key in ("primary", "each") if key in artifacts]
    secondary = artifacts.get("secondary", {})
    return found + [(("output_artifacts", "secondary", key), name) for key, name in secondary.items()]


def artifact_is_repeated(file: PresetFile) -> Iterator[Fault]:
    """E212: no two output files share a name, on file systems that ignore case too."""
    seen: dict[str, str] = {}
    for where, name in _artifacts(file):
        if name.casefold() in seen:
            message = f"the file {name} is already the {seen[name.casefold()]} artifact"
            yield _at(file, file.front.mark(*where), "E212", message)
        seen.setdefault(name.casefold(), where[-1])


def secondary_key_is_off(file: PresetFile) -> Iterator[Fault]:
    """E225: a key of `secondary` says which nodes go there, and no two say the same."""
    seen: dict[str, str] = {}
    for key in file.data.get("output_artifacts", {}).get("secondary", {}):
        selector = file.selector(key)
        mark = file.front.key_mark("output_artifacts", "secondary", key)
        if selector is None:
            message = f"{key} selects no nodes; use kept, pruned, blocked, refuted, or the label of a role"
            yield _at(file, mark, "E225", message)
        elif selector in seen:
            yield _at(file, mark, "E225", f"{key} selects the same nodes as {seen[selector]}")
        else:
            seen[selector] = key


def glossary_path_is_unclean(file: PresetFile) -> Iterator[Fault]:
    """E213: glossary paths are project-relative, with forward slashes and without `.` and `..`."""
    for i, path in enumerate(file.data.get("glossary_paths", [])):
        parts = path.split("/")
        drive = re.match(r"[A-Za-z]:", path)
        if "\\" in path or drive or path.startswith("~") or any(part in ("", ".", "..") for part in parts):
            message = f"{path} must be a project-relative path with forward slashes and without . or .."
            yield _at(file, file.front.mark("glossary_paths", i), "E213", message)


def gate_arguments_are_off(file: PresetFile) -> Iterator[Fault]:
    """E214: `score_below` takes `dim` and `value`, the other gates take `field`."""
    for i, gate in enumerate(file.data.get("gates", [])):
        due = {"dim", "value"} if gate["when"] == "score_below" else {"field"}
        given = set(gate) & {"dim", "value", "field"}
        if given != due:
            message = f"the gate {gate['when']} takes {' and '.join(sorted(due))} and nothing else"
            yield _at(file, file.front.mark("gates", i, "when"), "E214", message)


def gate_does_not_lower(file: PresetFile) -> Iterator[Fault]:
    """E215: a gate lowers a verdict; a preset can add conditions, never weaken one."""
    for i, gate in enumerate(file.data.get("gates", [])):
        always = gate.get("always", False)
        allowed = ("pruned",) if always else ("kept", "pruned")
        if gate["then"] not in allowed:
            kind = "a gate that always applies" if always else "a gate"
            message = f"{kind} may only lead to {' or '.join(allowed)}, found {gate['then']}"
            yield _at(file, file.front.mark("gates", i, "then"), "E215", message)


def section_is_missing(file: PresetFile) -> Iterator[Fault]:
    """E216: the body has its four sections, under their English headings."""
    end = Mark(line=file.document.body_line, column=1, end_column=1)
    if file.document.front is None:
        return
    for title in SECTIONS:
        if file.section(title) is None:
            yield _at(file, end, "E216", f"the section `## {title}` is missing from the body")


def section_is_empty(file: PresetFile) -> Iterator[Fault]:
    """E217: no section but the framing notes may be empty."""
    for section in file.sections:
        if section.heading.title.casefold() != NOTES.casefold() and not section.text:
            message = f"the section {section.heading.title} is empty"
            yield _at(file, section.heading.mark, "E217", message)


def section_is_repeated(file: PresetFile) -> Iterator[Fault]:
    """E218: a section stands once."""
    count = Counter[str]()
    for section in file.sections:
        title = section.heading.title.casefold()
        count[title] += 1
        if count[title] > 1:
            yield _at(file, section.heading.mark, "E218", f"the section {section.heading.title} stands twice")


def section_is_unused(file: PresetFile) -> Iterator[Fault]:
    """W219: a section that no one reads is likely a misspelt one."""
    known = {title.casefold() for title in SECTIONS}
    for section in file.sections:
        if section.heading.title.casefold() not in known:
            message = f"the section {section.heading.title} is not used; known: {', '.join(SECTIONS)}"
            yield _at(file, section.heading.mark, "W219", message)


def framing_note_is_unknown(file: PresetFile) -> Iterator[Fault]:
    """E220: a framing note stands under `### <letter>`, a letter A to L or X, each once."""
    notes = file.section(NOTES)
    seen: set[str] = set()
    for note in notes.parts(3) if notes else []:
        letter = note_letter(note)
        if letter not in LETTERS or letter in seen:
            reason = "stands twice" if letter in seen else "is no framing; use a letter A to L, or X"
            yield _at(file, note.heading.mark, "E220", f"the note {note.heading.title} {reason}")
        seen.add(letter)


def note_letter(note: Section) -> str:
    """Return the letter that a framing note is for: `K` of `K` and of `K: high risk`."""
    return re.split(r"[\s:.：]", note.heading.title, maxsplit=1)[0] or "?"


def label_is_no_noun(file: PresetFile) -> Iterator[Fault]:
    """E221: the subject label is a single word."""
    label = file.data.get("subject_label", "")
    if label and len(label.split()) != 1:
        yield _at(
            file, file.front.mark("subject_label"), "E221", f"subject_label must be one noun, found {label}"
        )


def root_field_is_off(file: PresetFile) -> Iterator[Fault]:
    """E222: root modes and the fields of each are unique identifiers, and no mode is empty."""
    modes: set[str] = set()
    for i, schema in enumerate(file.data.get("root_fields", [])):
        mode = schema.get("mode", "default")
        where = file.front.mark("root_fields", i, "mode")
        if mode in modes or not _IDENTIFIER.match(mode):
            yield _at(file, where, "E222", f"the mode {mode} must be an identifier that stands once")
        modes.add(mode)
        if not schema["fields"]:
            yield _at(file, file.front.mark("root_fields", i, "fields"), "E222", f"{mode} has no fields")
        names: set[str] = set()
        for j, entry in enumerate(schema["fields"]):
            if entry["name"] in names or not _IDENTIFIER.match(entry["name"]):
                message = f"the root field {entry['name']} must be an identifier that stands once"
                yield _at(file, file.front.mark("root_fields", i, "fields", j, "name"), "E222", message)
            names.add(entry["name"])


def part_is_missing(file: PresetFile) -> Iterator[Fault]:
    """W223: without an assumptions field, hedging is a violation everywhere; without an external one X is off."""
    if "node_schema" not in file.data:
        return
    parts = file.parts()
    for part, effect in (
        ("assumptions", "hedged words will be violations in every field"),
        ("external", "the cross-check X will not run"),
        ("verdict", "the performer has no field for its own label"),
    ):
        if part not in parts:
            message = f"no field plays the part {part}: {effect}; name one under parts"
            yield _at(file, file.front.key_mark("node_schema"), "W223", message)


def defense_gate_is_off(file: PresetFile) -> Iterator[Fault]:
    """E224: the gate `defense_shown` and the file of refuted nodes need the defense part."""
    if "node_schema" not in file.data:
        return
    defense = file.parts().get("defense")
    gates = [g for g in file.data.get("gates", []) if g["when"] == "defense_shown"]
    for i, gate in enumerate(file.data.get("gates", [])):
        if gate["when"] == "defense_shown" and gate.get("field") != defense:
            message = (
                f"defense_shown must name the field of the part defense, which is {defense or 'not set'}"
            )
            yield _at(file, file.front.mark("gates", i, "field"), "E224", message)
    secondary = file.data.get("output_artifacts", {}).get("secondary", {})
    if "refuted" in secondary and not gates:
        message = "refuted needs a gate defense_shown; without one nothing is ever refuted"
        yield _at(file, file.front.key_mark("output_artifacts", "secondary", "refuted"), "E224", message)


def _repeated(file: PresetFile, key: str, values: list[str], rule: str, what: str) -> Iterator[Fault]:
    seen: dict[str, int] = {}
    for i, value in enumerate(values):
        if value in seen:
            message = f"{what} {value} is already item {seen[value] + 1}"
            yield _at(file, file.front.mark(key, i), rule, message)
        seen.setdefault(value, i)


PRESET_RULES: tuple[PresetRule, ...] = (
    name_differs_from_file,
    field_is_no_identifier,
    field_count_is_off,
    field_is_repeated,
    dim_count_is_off,
    dim_key_is_malformed,
    dim_key_is_repeated,
    label_is_repeated,
    field_is_unknown,
    dim_is_unknown,
    artifact_name_is_unsafe,
    artifact_is_repeated,
    secondary_key_is_off,
    glossary_path_is_unclean,
    gate_arguments_are_off,
    gate_does_not_lower,
    section_is_missing,
    section_is_empty,
    section_is_repeated,
    section_is_unused,
    framing_note_is_unknown,
    label_is_no_noun,
    root_field_is_off,
    part_is_missing,
    defense_gate_is_off,
)


def preset_faults(file: PresetFile) -> list[Fault]:
    """Return every fault of a preset file, of reading and of rules."""
    found = file.reading_faults()
    for rule in PRESET_RULES:
        found.extend(rule(file))
    return found
