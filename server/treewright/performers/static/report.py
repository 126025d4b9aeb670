"""From hits and origins to findings: every sentence is made from facts, and every quote is a file's own text."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace

from treewright.performers.static.facts import FileFacts, FunctionFacts, Match, Place, SinkHit
from treewright.performers.static.finding import Edit, Finding, FlowStep, Mitigation, Quote, Scores
from treewright.performers.static.judge import Setting, flow_scores, label, match_scores
from treewright.performers.static.link import Held, Linker, Origin
from treewright.performers.static.rulebook import Rule, rules_for

Lines = Callable[[str], list[str]]
_MAX_QUOTE_LINES = 6


class Reporter:
    """Builds findings over one project's facts.

    Args:
        linker: resolves flows. lines: gives a file's lines. setting: of a file.
    """

    def __init__(self, linker: Linker, lines: Lines, setting: Callable[[FileFacts], Setting]) -> None:
        self.linker, self.lines, self.setting = linker, lines, setting

    def _rule(self, facts: FileFacts, rule: str) -> Rule:
        return rules_for(facts.language)[rule]

    def quote(self, path: str, start: int, end: int | None = None) -> Quote:
        """Whole lines of a file, at most six, verbatim."""
        last = min(end or start, start + _MAX_QUOTE_LINES - 1)
        lines = self.lines(path)
        return Quote(path, start, min(last, max(len(lines), 1)), "\n".join(lines[start - 1 : last]))

    def of_sink(self, facts: FileFacts, function: FunctionFacts, hit: SinkHit) -> Finding | None:
        """The finding of a sink: the strongest origin without a mitigation, else the strongest with one."""
        rule = self._rule(facts, hit.rule)
        own = dict(hit.facts).get("callee")
        if own and self.linker.is_defined(own):
            return None  # what the project's own function does with it is looked at there
        origins = self._origins(facts, function, hit, rule)
        if not origins:
            open_end = not hit.flows or (("composed", "yes") in hit.facts and self._unknown(function, hit))
            bound = ("bound", "yes") in hit.facts  # then only names of tables and columns vary
            told = rule.opaque and open_end and not hit.safe and not bound
            return self._opaque(facts, function, hit, rule) if told else None
        setting = self.setting(facts)
        open_ones = [] if hit.safe else [o for o in origins if not o.mitigations(rule.kind)]
        chosen = (open_ones or origins)[0]
        if not open_ones and chosen.strength < (2 if setting.library else 1):
            return None
        stored = chosen.strength == 1 and chosen.kind == "source"
        if setting.snippet and rule.kind == "path" and ("composed", "yes") not in hit.facts:
            setting = replace(
                setting, snippet=False
            )  # opening what the caller names is what such a function is for
        mitigations = [] if open_ones else self._mitigations(facts, hit, chosen, rule)
        finding = self._base(facts, function.name, rule, hit.place, hit.what, dict(hit.facts), chosen)
        finding.exploit_path = self._path(facts, hit, chosen, rule)
        finding.mitigations = mitigations
        finding.entry = chosen.entry
        self._judge(finding, lambda fix: flow_scores(rule, chosen.strength, setting, fix, stored))
        finding.threat = self._threat(chosen, setting)
        self._finish(finding)
        return finding

    def _unknown(self, function: FunctionFacts, hit: SinkHit) -> bool:
        """Whether some of the text is a field that nothing here sets, or a parameter that nobody here fills."""
        return any(
            (flow.label.kind == "field" and not self.linker.is_written(flow.label.key))
            or (
                flow.label.kind == "param"
                and not self.linker.is_called(function.name)
                and not any(mark.kinds for mark in flow.marks)
            )
            for flow in hit.flows
        )

    def _origins(self, facts: FileFacts, function: FunctionFacts, hit: SinkHit, rule: Rule) -> list[Origin]:
        wants_exception = rule.kind == "disclosure"
        least = rule.flow_alone if rule.flow_alone and self.setting(facts).snippet else rule.flow
        found: list[Origin] = []
        for flow in hit.flows:
            found.extend(
                origin
                for origin in self.linker.origins(facts, function, flow)
                if origin.key.startswith("exception") == wants_exception and origin.strength >= least
            )
        found.sort(key=lambda origin: (-origin.strength, len(origin.stops)))
        return found

    def _opaque(self, facts: FileFacts, function: FunctionFacts, hit: SinkHit, rule: Rule) -> Finding:
        """Text composed of values whose origin is not established."""
        finding = self._base(facts, function.name, rule, hit.place, hit.what, dict(hit.facts), None)
        finding.exploit_path = [FlowStep(finding.position, _said(rule.exploit, _Words({"sink": hit.what})))]
        setting = self.setting(facts)
        composed = ("composed", "yes") in hit.facts
        loose = composed or setting.snippet or rule.kind != "command"

        def scores(fix: int) -> Scores:
            known = flow_scores(rule, 0, setting, fix, False)
            return known if loose else replace(known, reproducibility=max(known.reproducibility - 1, 0))

        self._judge(finding, scores)
        finding.threat = "No way from an entry point to the value is established; " + (
            "the text is composed at run time." if composed else "it is not a constant."
        )
        self._finish(finding)
        return finding

    def of_match(self, facts: FileFacts, symbol: str, match: Match) -> Finding:
        """The finding of a structural hit."""
        rule = self._rule(facts, match.rule)
        setting = self.setting(facts)
        finding = self._base(facts, symbol, rule, match.place, match.what, dict(match.facts), None)
        words = _Words(
            {"what": match.what, "sink": match.what, "shown": _tidy(match.what)} | dict(match.facts)
        )
        finding.exploit_path = [FlowStep(finding.position, _said(rule.exploit, words))]
        if match.safe:
            where = self.quote(facts.path, match.safe_line) if match.safe_line else finding.position
            finding.mitigations = [Mitigation(where, "form", match.safe)]
        lines = self.lines(facts.path)
        finding.edits = [_edit(facts.path, lines, edit) for edit in match.edits]
        finding.edits_verified = False
        self._judge(finding, lambda fix: match_scores(rule, match.strength, setting, fix))
        finding.threat = self._reach(facts, symbol, setting)
        self._finish(finding)
        return finding

    def _base(
        self, facts: FileFacts, symbol: str, rule: Rule, place: Place, what: str, extra: dict[str, str],
        origin: Origin | None,
    ) -> Finding:  # fmt: skip
        position = self.quote(facts.path, place.line, place.end)
        source = origin.what if origin else "A value that is not constant"
        entry = origin.entry if origin else symbol
        words = _Words(
            {"source": _upper(source), "sink": what, "what": what, "entry": entry, "shown": _tidy(what)}
            | extra
        )
        return Finding(
            rule=rule.id, framing=rule.framing, cwe=rule.cwe, title=rule.title,
            statement=f"{_said(rule.statement, words)} ({position.where})",
            position=position, symbol=symbol, root_cause=_said(rule.cause, words),
            assumptions=list(rule.assumptions) or _assumptions(origin, symbol),
            exploit_path=[], mitigations=[], searched=rule.searched,
            alternatives=list(rule.alternatives) or _alternatives(rule, what),
            fix=_said(rule.fix, words), edits=[], edits_verified=False, entry=origin.entry if origin else "",
            threat="", related=[f"CWE-{number}" for number in rule.related],
            scores=Scores(rule.severity, 3, 0, 1, 0), verdict="", place=(place.line, place.end, place.column, place.end_column),
        )  # fmt: skip

    def _judge(self, finding: Finding, scores: Callable[[int], Scores]) -> None:
        fixability = 3 if finding.edits_verified else 2 if finding.fix else 0
        finding.scores = scores(fixability)
        finding.verdict = label(finding.scores, bool(finding.mitigations), bool(finding.fix))

    def _path(self, facts: FileFacts, hit: SinkHit, origin: Origin, rule: Rule) -> list[FlowStep]:
        steps: list[FlowStep] = []
        for stop in origin.stops:
            if not steps or (stop.path, stop.line) != (steps[-1].quote.path, steps[-1].quote.start):
                steps.append(FlowStep(self.quote(stop.path, stop.line), _upper(stop.what)))
        last = self.quote(facts.path, hit.place.line, hit.place.end)
        words = _Words({"sink": hit.what, "what": hit.what, "source": origin.what} | dict(hit.facts))
        steps.append(FlowStep(last, _said(rule.exploit, words)))
        return steps

    def _mitigations(self, facts: FileFacts, hit: SinkHit, origin: Origin, rule: Rule) -> list[Mitigation]:
        if hit.safe:
            return [Mitigation(self.quote(facts.path, hit.place.line, hit.place.end), "form", hit.safe)]
        return [self._held(held) for held in origin.mitigations(rule.kind)[:3]]

    def _held(self, held: Held) -> Mitigation:
        return Mitigation(self.quote(held.path, held.mark.line), "guard", held.mark.why)

    def _threat(self, origin: Origin, setting: Setting) -> str:
        where = _WHERE[setting.name]
        reach = {3: "over the network", 2: "from the local machine", 1: "by calling it", 0: "by no known way"}
        return f"The code is part of {where}; the value enters through the {origin.entry or 'module body'}, reached {reach[origin.strength]}."

    def _reach(self, facts: FileFacts, symbol: str, setting: Setting) -> str:
        where = _WHERE[setting.name]
        place = "the module body, which runs on import" if symbol.endswith("<module>") else f"`{symbol}`"
        return f"The code is part of {where}; the line runs in {place} ({facts.path})."

    def _finish(self, finding: Finding) -> None:
        """Fingerprint and the list of all citations; what was refuted says so in its statement."""
        if finding.mitigations:
            finding.statement = f"Examined and refuted: {finding.statement}"
        key = "\0".join(
            (
                finding.rule,
                finding.position.path,
                finding.symbol,
                re.sub(r"\s+", " ", finding.position.text.strip()),
            )
        )
        finding.fingerprint = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        quotes = [
            finding.position,
            *(s.quote for s in finding.exploit_path),
            *(m.quote for m in finding.mitigations),
        ]
        finding.quotes = list(dict.fromkeys(quotes))


_WHERE = {
    "test": "a test",
    "library": "a package that other code imports",
    "program": "a program",
    "snippet": "a short file that stands alone",
}


class _Words(dict[str, str]):
    """Template words; a word that a hit does not give is left out rather than guessed."""

    def __missing__(self, key: str) -> str:
        return "SECRET" if key == "env" else ""


_NAME = re.compile(r"[\w$~-]+(\.[\w$~-]+)+|[\w$]*[_A-Z][\w$]*")
"""Names as code has them, which a sentence sets off; plain words are left as they are."""


def _said(template: str, words: _Words) -> str:
    """A sentence of a rule: what is a piece of code stands in back quotes, what is a phrase does not."""
    told = _Words(words)
    for key in ("sink", "what"):
        value = _tidy(words.get(key, ""))
        phrase = value.startswith(("the ", "an ", "a "))
        template = template.replace(f"`{{{key}}}`", f"{{{key}}}" if phrase else f"`{{{key}}}`")
        bare = not phrase and f"`{{{key}}}`" not in template and _NAME.fullmatch(value) is not None
        told[key] = f"`{value}`" if bare else value
    return _upper(template.format_map(told))


def _tidy(text: str) -> str:
    """A piece of code that was cut in the middle of a call, closed again."""
    return f"{text.partition('(')[0]}(...)" if text.count("(") > text.count(")") else text


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _edit(path: str, lines: list[str], edit: tuple[int, int, int, int, str]) -> Edit:
    start, column, end, end_column, new = edit
    rows = lines[start - 1 : end]
    old = (
        rows[0][column:end_column]
        if start == end and rows
        else "\n".join([rows[0][column:], *rows[1:-1], rows[-1][:end_column]] if rows else [])
    )
    return Edit(path, start, column, end, end_column, old, new)


def _assumptions(origin: Origin | None, symbol: str) -> list[str]:
    place = "the module" if symbol.endswith("<module>") else f"`{symbol}`"
    found = [f"The line is executed: {place} is run in the deployed program."]
    if origin is not None and origin.strength == 1:
        found.append("Callers pass data that they did not choose themselves.")
    elif origin is not None:
        found.append("No component in front of the program rejects the value before it arrives.")
    return found


def _alternatives(rule: Rule, what: str) -> list[str]:
    if rule.kind:
        return [
            f"Every caller restricts the value before it reaches `{what}`; none of the callers in the workspace does."
        ]
    return [f"The line is meant as it stands, for a purpose where {rule.title.lower()} does no harm."]
