"""What a preset is once it has been read (contract: exploration, 1).

A preset names its own fields and dimensions. Which of them the engine works with (the subject that is compared,
the position, the defense, the fix, the external field) is said once, in `Parts`: no engine code knows a preset's
name or a field's name.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from treewright.tree.citation import Frozen
from treewright.tree.run import Role

RootKind = Literal["topic", "artifact", "code", "design-prompt"]
GateKind = Literal["defense_shown", "field_missing", "score_below"]
SecondarySelector = Literal["kept", "pruned", "blocked", "refuted"]

Text = Annotated[str, StringConstraints(min_length=1)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$")]
DimKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{1,3}$")]
ArtifactName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*\.md$")]

FIELD_COUNT = 12
DIM_COUNT = 5
DIM_MAXIMUM = 3
ADVANCES_FROM = 11
"""sum from which a node advances when every gate holds (contract: exploration, 3)"""
KEPT_FROM = 8
"""sum from which a node is kept (contract: exploration, 3)"""


class ScoreDim(Frozen):
    """One score dimension: integers 0 to 3, and what the ends mean."""

    key: DimKey
    name: Text
    desc: Text


class FieldRule(Frozen):
    """What a field must hold before its node counts as derived.

    Attributes:
        min_items: list items that are due; 1 for a field that only has to be there, 0 for one that may be empty.
        min_sentences: sentences that are due in all.
        must_cite: at least one citation that supports this field.
        must_have_steps: a chain of at least two steps, each on a line or item of its own.
        numeric: a number in this field needs a check expression.
        about: one line that tells the performer what belongs here; may be empty.
    """

    min_items: int = Field(default=1, ge=0, le=50)
    min_sentences: int = Field(default=0, ge=0, le=50)
    must_cite: bool = False
    must_have_steps: bool = False
    numeric: bool = False
    about: str = ""


class Parts(Frozen):
    """Which field plays which part; a part without a field is None, and then the engine does without it.

    Attributes:
        subject: the statement that merging compares.
        framing: takes the framing that brought the node.
        position: where the node applies.
        evidence: what the claim stands on.
        assumptions: the one field in which hedging is no violation.
        predictions: what would be seen if it holds.
        defense: what speaks against it or stands before it already.
        fix: what to do about it.
        external: where the cross-check X writes.
        potential: what could be expanded next.
        verdict: the performer's own provisional label; the engine decides by itself.
    """

    subject: Identifier
    framing: Identifier | None = None
    position: Identifier | None = None
    evidence: Identifier | None = None
    assumptions: Identifier | None = None
    predictions: Identifier | None = None
    defense: Identifier | None = None
    fix: Identifier | None = None
    external: Identifier | None = None
    potential: Identifier | None = None
    verdict: Identifier | None = None

    def named(self) -> dict[str, str]:
        """Return part to field for the parts that have one."""
        return {part: name for part, name in self.model_dump().items() if name is not None}


class RootField(Frozen):
    """A field of the root: how many items are due and what belongs in it."""

    name: Identifier
    min_items: int = Field(default=1, ge=0, le=50)
    about: str = ""


class RootSchema(Frozen):
    """The root fields of one mode.

    Attributes:
        mode: identifier; `default` where a preset has a single mode.
        when: one line that tells when this mode is the right one.
        fields: in the order to fill them in.
    """

    mode: Identifier = "default"
    when: str = ""
    fields: tuple[RootField, ...] = Field(min_length=1)


class Gate(Frozen):
    """A condition that lowers a verdict, never raises one.

    Kinds: `defense_shown` holds when the defense part was shown with a verified citation; `field_missing` when
    `field` is empty or only says that there is none; `score_below` when dimension `dim` is below `value`.

    Attributes:
        when: the kind.
        field: for `defense_shown` and `field_missing`.
        dim, value: for `score_below`; value 1 to 3.
        then: the role that the node falls to.
        always: decides before any score; otherwise only a node whose sum would advance is asked.
        because: what the report says.
    """

    when: GateKind
    field: Identifier | None = None
    dim: DimKey | None = None
    value: int | None = Field(default=None, ge=1, le=DIM_MAXIMUM)
    then: Role
    always: bool = False
    because: Text

    @model_validator(mode="after")
    def _arguments_fit(self) -> "Gate":
        by_score = self.when == "score_below"
        if by_score != (self.dim is not None and self.value is not None) or by_score == (
            self.field is not None
        ):
            raise ValueError("score_below takes dim and value; the other gates take field")
        allowed = {Role.PRUNED} if self.always else {Role.KEPT, Role.PRUNED}
        if self.then not in allowed:
            raise ValueError(
                "a gate lowers a verdict: to kept or pruned, and to pruned when it always applies"
            )
        return self


class OutputArtifacts(Frozen):
    """Files that a run ends with.

    Attributes:
        primary: file of the nodes in role `advances`.
        secondary: which nodes go to which file; `refuted` are those pruned by a `defense_shown` gate, `blocked`
            takes what stayed unresolved at the end.
        sort_by: dimension keys whose product sorts the entries, highest first; empty sorts by the sum.
        each: file for each primary entry, holding `<id>`; None for none.
        table: fields shown as a table at the top of the primary file.
    """

    primary: ArtifactName
    secondary: dict[SecondarySelector, ArtifactName] = Field(default_factory=dict)
    sort_by: tuple[DimKey, ...] = ()
    each: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-]*<id>[A-Za-z0-9_-]*\.md$")
    table: tuple[Identifier, ...] = ()

    def sort_value(self, scores: dict[str, int]) -> int:
        """Return what an entry is sorted by, highest first: the product of `sort_by`, else the sum."""
        if not self.sort_by:
            return sum(scores.values())
        product = 1
        for key in self.sort_by:
            product *= scores[key]
        return product

    def names(self) -> list[str]:
        """Return every fixed file name, primary first."""
        return [self.primary, *self.secondary.values()]


class Preset(Frozen):
    """A preset: what configures the exploration engine.

    Attributes:
        name: equals the base name of its file.
        description: one or two sentences.
        use_when: when to choose it; may be empty.
        not_when: when something else serves better; may be empty.
        root_kind: what the root is.
        subject_label: the noun for a node: idea, critique, option, finding.
        verdict_enum: role to label, all four, all different.
        convergence_metric: the role whose share of new nodes decides condition 2.
        score_dims: five, in the order scores are shown.
        node_schema: twelve field names in order.
        parts: which field plays which part.
        field_rules: rule by field; `rule` gives the usual one for the rest.
        root_schemas: the root's fields, one entry a mode.
        gates: in the order they are asked.
        output_artifacts: what files a run ends with.
        glossary_paths: project-relative paths of term lists.
        grounding: the grounding recipe, Markdown.
        framing_notes: letter A to L or X to what this preset adds to the framing.
        verdict_detail: how the labels are earned, Markdown.
        anti_patterns: what to avoid, Markdown.
        digest: SHA-256 (hex) of the file with LF line ends and without byte order mark.
    """

    name: Text
    description: Text
    use_when: str = ""
    not_when: str = ""
    root_kind: RootKind
    subject_label: Text
    verdict_enum: dict[Role, Text]
    convergence_metric: Role
    score_dims: tuple[ScoreDim, ...] = Field(min_length=DIM_COUNT, max_length=DIM_COUNT)
    node_schema: tuple[Identifier, ...] = Field(min_length=FIELD_COUNT, max_length=FIELD_COUNT)
    parts: Parts
    field_rules: dict[Identifier, FieldRule] = Field(default_factory=dict)
    root_schemas: tuple[RootSchema, ...] = Field(min_length=1)
    gates: tuple[Gate, ...] = ()
    output_artifacts: OutputArtifacts
    glossary_paths: tuple[str, ...] = ()
    grounding: Text
    framing_notes: dict[str, str] = Field(default_factory=dict)
    verdict_detail: Text
    anti_patterns: Text
    digest: Text

    @model_validator(mode="after")
    def _names_agree(self) -> "Preset":
        fields, dims = set(self.node_schema), {dim.key for dim in self.score_dims}
        used_fields = {*self.parts.named().values(), *self.field_rules, *self.output_artifacts.table}
        used_fields |= {gate.field for gate in self.gates if gate.field}
        used_dims = {gate.dim for gate in self.gates if gate.dim} | set(self.output_artifacts.sort_by)
        if len(fields) != FIELD_COUNT or len(dims) != DIM_COUNT:
            raise ValueError("field names and dimension keys are unique")
        if set(self.verdict_enum) != set(Role) or len(set(self.verdict_enum.values())) != len(Role):
            raise ValueError("each of the four roles has a label of its own")
        if used_fields - fields or used_dims - dims:
            raise ValueError(f"unknown names: {sorted(used_fields - fields) + sorted(used_dims - dims)}")
        return self

    def label(self, role: Role) -> str:
        """Return the preset's label for a role."""
        return self.verdict_enum[role]

    def role_of(self, label: str) -> Role | None:
        """Return the role of a label in any letter case, or None when it is not one of this preset's."""
        wanted = label.strip().casefold()
        return next((role for role, own in self.verdict_enum.items() if own.casefold() == wanted), None)

    def rule(self, field: str) -> FieldRule:
        """Return the rule of a field; a field without one only has to be there."""
        return self.field_rules.get(field, FieldRule())

    def dim_keys(self) -> tuple[str, ...]:
        """Return the five dimension keys in order."""
        return tuple(dim.key for dim in self.score_dims)

    def root_schema(self, mode: str = "") -> RootSchema:
        """Return the root's fields for a mode; the first mode when none is given.

        Raises:
            KeyError: the preset has no such mode.
        """
        if not mode:
            return self.root_schemas[0]
        for schema in self.root_schemas:
            if schema.mode == mode:
                return schema
        raise KeyError(mode)

    def gate(self, kind: GateKind) -> tuple[Gate, ...]:
        """Return the gates of one kind, in order."""
        return tuple(gate for gate in self.gates if gate.when == kind)
