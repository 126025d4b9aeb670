"""What a function's facts hold already: a loop body is run twice, and the second round adds to what the first one noted."""

from treewright.performers.static.facts import CallOut, FunctionFacts, SinkHit
from treewright.performers.static.python.value import merge_flows


class Noted:
    """The places of sinks and calls in the facts of a file's functions, so that noting one costs one look."""

    def __init__(self) -> None:
        """Nothing is noted yet."""
        self._places: dict[tuple[int, str, object], int] = {}

    def sink(self, facts: FunctionFacts, hit: SinkHit, *, decides: bool) -> None:
        """Note a sink, or add its flows to the same one noted before.

        Args:
            facts: of the function.
            hit: the sink.
            decides: its `safe` takes the place of the former one's.
        """
        index = self._places.setdefault((id(facts), hit.rule, hit.place), len(facts.sinks))
        if index == len(facts.sinks):
            facts.sinks.append(hit)
            return
        known = facts.sinks[index]
        merged = merge_flows(known.flows, hit.flows)
        facts.sinks[index] = known._replace(flows=merged, safe=hit.safe if decides else known.safe)

    def call(self, facts: FunctionFacts, made: CallOut) -> None:
        """Note a call, in the place of the same one noted before."""
        index = self._places.setdefault((id(facts), "call", made.number), len(facts.calls))
        facts.calls[index : index + 1] = [made]
