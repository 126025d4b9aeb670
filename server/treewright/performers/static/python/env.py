"""What is known at one point of a function: values by name, marks by label, and how two ways join."""

from treewright.performers.static.facts import Flow, Label, Mark
from treewright.performers.static.python.value import Value, join


class Env:
    """Variables by name (or dotted path), and marks that hold for a label on every way here."""

    __slots__ = ("marks", "vars")

    def __init__(
        self, variables: dict[str, Value] | None = None, marks: dict[Label, tuple[Mark, ...]] | None = None
    ):
        self.vars: dict[str, Value] = variables if variables is not None else {}
        self.marks: dict[Label, tuple[Mark, ...]] = marks if marks is not None else {}

    def copy(self) -> "Env":
        """An independent copy."""
        return Env(dict(self.vars), dict(self.marks))


def join_env(first: Env | None, second: Env | None) -> Env | None:
    """Where two ways meet: values joined, only marks kept that hold on both. None is an unreachable way."""
    if first is None or second is None:
        return first or second
    marks = {
        label: kept
        for label, mine in first.marks.items()
        if (kept := tuple(m for m in mine if any(o.kinds == m.kinds for o in second.marks.get(label, ()))))
    }
    mine, theirs = _absorbed(first, marks), _absorbed(second, marks)
    variables = dict(mine)
    for name, value in theirs.items():
        known = variables.get(name)
        if known is not value:
            variables[name] = join(known, value) if known is not None else value
    return Env(variables, marks)


def _absorbed(env: Env, common: dict[Label, tuple[Mark, ...]]) -> dict[str, Value]:
    """The variables with the marks that the join would lose put on the values themselves.

    `if x not in OK: x = "a"`: on the way where x was in OK its value keeps the mark; on the other x is another value.
    """
    lost = {label: marks for label, marks in env.marks.items() if marks != common.get(label)}
    if not lost:
        return env.vars
    changed = dict(env.vars)
    for name, value in env.vars.items():
        if any(flow.label in lost for flow in value.flows):
            flows = tuple(
                flow._replace(marks=(*flow.marks, *(m for m in lost[flow.label] if m not in flow.marks)))
                if flow.label in lost
                else flow
                for flow in value.flows
            )
            changed[name] = replace_flows(value, flows)
    return changed


def replace_flows(value: Value, flows: tuple[Flow, ...]) -> Value:
    """The same value with other flows."""
    return Value(flows, value.const, value.name, value.prefix, value.composed, value.items, value.entries)
