"""Reads public labelled sets of vulnerable and safe code from a checkout given by path; nothing of them is kept here.

A set's reader gives `Sample`s. A sample's half is decided by the hash of its key, so that one half can be read while
tuning and the other is only ever counted.
"""

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml


@dataclass(frozen=True, slots=True)
class Mark:
    """Lines that are vulnerable or safe in respect of some CWE ids; `first` 0 is the whole file."""

    first: int
    last: int
    cwes: frozenset[int]
    vulnerable: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """One file of a set with its marks."""

    key: str
    suffix: str
    code: str
    marks: tuple[Mark, ...]

    @property
    def half(self) -> str:
        """`dev`, which may be read while tuning, or `held`; by what stands before `#`, which variants share."""
        named = self.key.partition("#")[0]
        return "held" if hashlib.sha256(named.encode()).digest()[0] & 1 else "dev"


def whole(cwes: set[int], vulnerable: bool) -> tuple[Mark, ...]:
    """One mark over a whole file."""
    return (Mark(0, 0, frozenset(cwes), vulnerable),)


def security_eval(root: Path) -> Iterator[Sample]:
    """s2e-lab/SecurityEval: one insecure file a line of dataset.jsonl, the CWE in its id."""
    for line in (root / "dataset.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        number = int(row["ID"].split("_")[0].removeprefix("CWE-"))
        yield Sample(row["ID"], ".py", row["Insecure_code"], whole({number}, True))


def owasp(root: Path) -> Iterator[Sample]:
    """OWASP-Benchmark/BenchmarkPython: one file a case, true and false by a table."""
    table = next(root.glob("expectedresults-*.csv")).read_text(encoding="utf-8")
    for line in table.splitlines()[1:]:
        name, _, real, cwe = line.split(",")[:4]
        code = (root / "testcode" / f"{name}.py").read_text(encoding="utf-8")
        yield Sample(name, ".py", code, whole({int(cwe)}, real == "true"))


def cweval(root: Path) -> Iterator[Sample]:
    """Co1lin/CWEval: a secure solution of each task; for JavaScript the insecure one beside it."""
    for path in sorted((root / "benchmark" / "core").glob("[jp][sy]/cwe_*")):
        kind = path.stem.rpartition("_")[2]
        if kind in {"task", "unsafe"}:
            number = int(path.stem.split("_")[1])
            key = path.stem.removesuffix(kind) + path.parent.name
            code = path.read_text(encoding="utf-8")
            yield Sample(key, path.suffix, code, whole({number}, kind == "unsafe"))


def sven(root: Path) -> Iterator[Sample]:
    """eth-sri/sven: a function before and after the commit that fixed it."""
    for path in sorted((root / "data_train_val").glob("*/cwe-*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            row = json.loads(line)
            if not row["file_name"].endswith(".py"):
                continue
            cwe = {int(row["vul_type"].removeprefix("cwe-"))}
            key = f"{row['commit_link']} {row['func_name']} {number}"
            yield Sample(key, ".py", unindented(row["func_src_before"]), whole(cwe, True))
            yield Sample(key, ".py", unindented(row["func_src_after"]), whole(cwe, False))


def unindented(code: str) -> str:
    """A method's text as it stands alone in a file."""
    first = code[: len(code) - len(code.lstrip(" \t"))].rpartition("\n")[2]
    lines = code.splitlines()
    return "\n".join(line.removeprefix(first) for line in lines) + "\n"


def completion(root: Path) -> Iterator[Sample]:
    """meta-llama/PurpleLlama, autocomplete.json: fragments of repositories around one insecure line."""
    for row in json.loads((root / "autocomplete.json").read_text(encoding="utf-8")):
        suffix = {"python": ".py", "javascript": ".js"}.get(row["language"])
        if suffix is None:
            continue
        code = unindented(row["origin_code"].strip("\n"))
        if suffix == ".py" and not _parses(code):
            continue
        wanted = row["line_text"].strip()
        at = next((n for n, text in enumerate(code.splitlines(), 1) if text.strip() == wanted), 0)
        cwes = frozenset({int(row["cwe_identifier"].removeprefix("CWE-"))})
        yield Sample(str(row["prompt_id"]), suffix, code, (Mark(at, at, cwes, True),))


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return True


_NOTE = re.compile(r"(?:#|//|/\*|\{/\*|<!--)\s*(ruleid|ok)\s*:\s*([\w.,\s-]+)")
_REACH = 8
"""Lines after a note in which the construct that it means is looked for."""


def semgrep(root: Path) -> Iterator[Sample]:
    """Files annotated with `ruleid:` and `ok:` beside YAML rules that name a CWE (semgrep-rules, njsscan)."""
    cwes: dict[str, frozenset[int]] = {}
    for path in sorted(root.rglob("*.y*ml")):
        try:
            text = path.read_text(encoding="utf-8")
            for rule in (yaml.safe_load(text) or {}).get("rules", []):
                found = re.findall(
                    r"CWE-(\d+)", str((rule.get("metadata") or {}).get("cwe", "")), re.IGNORECASE
                )
                cwes[rule["id"]] = frozenset(map(int, found))
        except (yaml.YAMLError, UnicodeDecodeError, AttributeError, TypeError, KeyError):
            continue  # not a file of rules
    for path in sorted(root.rglob("*")):
        if (
            path.suffix in {".py", ".js", ".jsx", ".ts", ".tsx"}
            and path.is_file()
            and ".fixed." not in path.name
        ):
            code = path.read_text(encoding="utf-8", errors="replace")
            marks = tuple(_notes(code, cwes))
            if marks:
                yield Sample(path.relative_to(root).as_posix(), path.suffix, code, marks)


def _notes(code: str, cwes: dict[str, frozenset[int]]) -> Iterator[Mark]:
    for mark, found in _noted(code, cwes, _NOTE, rules=2):
        yield replace(mark, vulnerable=found[1] == "ruleid")


def _noted(
    code: str, cwes: dict[str, frozenset[int]], note: re.Pattern[str], *, rules: int
) -> Iterator[tuple[Mark, re.Match[str]]]:
    """Yield what each note marks, up to the next note, as vulnerable; the group `rules` of a note names its rules."""
    lines = code.splitlines()
    rows = [(number, found) for number, text in enumerate(lines, 1) if (found := note.search(text))]
    for index, (number, found) in enumerate(rows):
        ends = next((later for later, _ in rows[index + 1 :] if later > number + 1), len(lines) + 1)
        numbers = frozenset().union(
            *(cwes.get(rule.strip(), frozenset()) for rule in found[rules].split(","))
        )
        if numbers:
            yield Mark(number + 1, min(ends - 1, number + _REACH), numbers, True), found


def sonar(root: Path) -> Iterator[Sample]:
    """SonarSource/sonar-python: `Noncompliant` comments, the CWE ids of each check in its description."""
    base = root / "python-checks" / "src"
    keys: dict[str, str] = {}
    for path in base.glob("main/java/**/*Check.java"):
        found = re.search(r'@Rule\(key\s*=\s*"(\w+)"', path.read_text(encoding="utf-8"))
        if found:
            keys[path.stem] = found[1]
    rules = base / "main/resources/org/sonar/l10n/py/rules/python"
    for path in sorted(base.glob("test/java/**/*Test.java")):
        about = rules / f"{keys.get(path.stem.removesuffix('Test'), '')}.json"
        if not about.is_file():
            continue
        described = json.loads(about.read_text(encoding="utf-8"))
        numbers = frozenset(int(n) for n in described.get("securityStandards", {}).get("CWE", []))
        if not numbers or described.get("type") not in {"VULNERABILITY", "SECURITY_HOTSPOT"}:
            continue
        for name in sorted(
            set(re.findall(r"resources/checks/([\w/.]+\.py)", path.read_text(encoding="utf-8")))
        ):
            sample = base / "test/resources/checks" / name
            if sample.is_file():
                code = sample.read_text(encoding="utf-8")
                yield Sample(name, ".py", _plain(code), tuple(_noncompliant(code, numbers)))


_NONCOMPLIANT = {sign: re.compile(rf"{sign}\s*Noncompliant(?:@([+-]\d+))?.*") for sign in ("#", "//")}


def _plain(code: str, sign: str = "#") -> str:
    return "\n".join(_NONCOMPLIANT[sign].sub("", line).rstrip() for line in code.splitlines()) + "\n"


def _noncompliant(code: str, cwes: frozenset[int], sign: str = "#") -> Iterator[Mark]:
    for number, text in enumerate(code.splitlines(), 1):
        if found := _NONCOMPLIANT[sign].search(text):
            at = number + int(found[1] or 0)
            yield Mark(at, at, cwes, True)


_EXPECTED = re.compile(r"(?:#|//|/\*|\{/\*|<!--)\s*bearer:expected\s+([\w,\s]+?)\s*(?:\*/|-->|$)")


def bearer(root: Path) -> Iterator[Sample]:
    """Bearer/bearer-rules: a `bearer:expected` note before each weak line; files named safe, secure or ok are safe.

    The rules about personal data that is handed to services (`third_parties`) are left out.
    """
    cwes: dict[str, frozenset[int]] = {}
    for path in sorted((root / "rules").rglob("*.yml")):
        about = (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).get("metadata") or {}
        if about.get("id"):
            cwes[about["id"]] = frozenset(int(number) for number in about.get("cwe_id") or ())
    tests = root / "tests"
    for path in sorted(
        path for language in ("python", "javascript") for path in (tests / language).rglob("*")
    ):
        parts = path.relative_to(tests).parts
        if path.suffix not in {".py", ".js", ".jsx", ".ts", ".tsx"} or "testdata" not in parts:
            continue
        if "third_parties" in parts:
            continue
        code = path.read_text(encoding="utf-8", errors="replace")
        rule = "_".join(parts[: parts.index("testdata")])
        marks = tuple(_expected(code, cwes))
        if not marks and re.match(r"ok|safe|secure", parts[-1]) and cwes.get(rule):
            marks = whole(set(cwes[rule]), False)
        if marks:
            yield Sample("/".join(parts), path.suffix, code, marks)


def _expected(code: str, cwes: dict[str, frozenset[int]]) -> Iterator[Mark]:
    return (mark for mark, _ in _noted(code, cwes, _EXPECTED, rules=1))


def llm_sec_eval(root: Path) -> Iterator[Sample]:
    """tuhh-softsec/LLMSecEval: secure samples only, the CWE in their folder's name."""
    for path in sorted((root / "Dataset" / "Secure Code Samples").rglob("*.py")):
        found = re.match(r"CWE-(\d+)", path.name)
        code = path.read_text(encoding="utf-8", errors="replace")
        if found and _parses(code):
            yield Sample(f"{path.stem[:-1]}#{path.stem}", ".py", code, whole({int(found[1])}, False))


_CHALLENGES = {
    "dbSchema": 89, "loginAdmin": 89, "loginBender": 89, "loginJim": 89, "unionSqlInjection": 89,
    "noSqlReviews": 943, "forgedReview": 943, "localXss": 79, "xssBonus": 79, "restfulXss": 79, "redirect": 601,
    "redirectCryptoCurrency": 601, "directoryListing": 548, "accessLogDisclosure": 548,
}  # fmt: skip
"""Challenges of the shop whose weakness has a line of its own in the shown code."""


def juice_shop(root: Path) -> Iterator[Sample]:
    """juice-shop/juice-shop: proposed repairs of one piece of code; one of them is right, the others leave the weakness."""
    for path in sorted((root / "data" / "static" / "codefixes").glob("*.ts")):
        name, _, rest = path.stem.partition("Challenge")
        if number := _CHALLENGES.get(name):
            code = path.read_text(encoding="utf-8")
            yield Sample(f"{name}#{rest}", ".ts", code, whole({number}, not rest.endswith("_correct")))


def sonar_js(root: Path) -> Iterator[Sample]:
    """SonarSource/SonarJS: fixtures with `Noncompliant` comments, the CWE ids of each rule in its description."""
    rules = (
        root / "sonar-plugin/javascript-checks/src/main/resources/org/sonar/l10n/javascript/rules/javascript"
    )
    for path in sorted((root / "packages").rglob("*.fixture.*")):
        about = rules / f"{path.parent.name}.json"
        if path.suffix not in {".js", ".jsx", ".ts", ".tsx"} or not about.is_file():
            continue
        described = json.loads(about.read_text(encoding="utf-8"))
        numbers = frozenset(int(n) for n in described.get("securityStandards", {}).get("CWE", []))
        if numbers and described.get("type") in {"VULNERABILITY", "SECURITY_HOTSPOT"}:
            code = path.read_text(encoding="utf-8", errors="replace")
            marks = tuple(_noncompliant(code, numbers, "//"))
            if marks:
                yield Sample(path.relative_to(root).as_posix(), path.suffix, _plain(code, "//"), marks)


SETS = {
    "bearer": bearer, "llmseceval": llm_sec_eval, "juiceshop": juice_shop, "sonarjs": sonar_js,
    "securityeval": security_eval, "owasp": owasp, "cweval": cweval, "sven": sven,
    "completion": completion, "semgrep": semgrep, "sonar": sonar,
}  # fmt: skip
