"""What a user asks of a code-branch search; every surface fills in the same form."""

from pydantic import BaseModel, ConfigDict, Field

from treewright.search.settings import GeneratorName


class SearchRequest(BaseModel):
    """A new search.

    Attributes:
        base: absolute folder that relative paths start from.
        file: the starting program's file; empty for none.
        function: the function under test; `Class.method` names a method.
        statement: the task in words.
        check_files: files of checks; `tests/test_a.py::test_b` takes one test of a file.
        check_texts: checks as text (an unsaved buffer, an agent's message).
        candidate_files, candidate_texts: programs handed in, for the `given` generator.
        generators: who proposes programs; empty for the usual ones.
        awaits: programs may also be handed in later, see `searches.offer`.
        model: a provider's name or specification; empty for the default, `static` for none.
        holdout: share of the checks that is only measured at the end.
        max_candidates: most programs that cost money; None takes the configuration's.
        spend_cap_usd: None takes the configuration's.
        time_limit_s: seconds after which the best so far is returned; None for no limit.
        per_branch_timeout_s: None takes the configuration's.
        mutate_seconds: seconds that repair by edits may take.
        exhaustive: go on after a branch has passed every visible check.
        efficiency: among branches that pass everything, prefer less CPU time, then less memory.
        stdin: standard input of programs that are judged by their output.
        python: interpreter whose packages checks import; empty to find the project's.
        max_tokens: most tokens of one answer of a model.
        trusted: the workspace may configure and execute.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: str
    file: str = ""
    function: str = ""
    statement: str = ""
    check_files: tuple[str, ...] = ()
    check_texts: tuple[str, ...] = ()
    candidate_files: tuple[str, ...] = ()
    candidate_texts: tuple[str, ...] = ()
    generators: tuple[GeneratorName, ...] = ()
    awaits: bool = False
    model: str = ""
    holdout: float = Field(default=0.0, ge=0, lt=1)
    max_candidates: int | None = Field(default=None, ge=1)
    spend_cap_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    time_limit_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    per_branch_timeout_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    mutate_seconds: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    exhaustive: bool = False
    efficiency: bool = False
    stdin: str = ""
    python: str = ""
    max_tokens: int = Field(default=1500, ge=16)
    trusted: bool = True


class SearchResumeRequest(BaseModel):
    """A search to go on with; what is None keeps what the search has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    spend_cap_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    max_candidates: int | None = Field(default=None, ge=1)
    time_limit_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    model: str = ""
    trusted: bool = True


class Audited(BaseModel):
    """A finding of the offline audit.

    Attributes:
        root: what was audited, absolute.
        rule, symbol: what was found, and where.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    root: str
    rule: str
    symbol: str


class Opened(BaseModel):
    """What a search was opened with: the first record of its journal, and again when it is resumed.

    Attributes:
        request: as it was asked.
        at_work: what this process is to the user.
        workspace: absolute.
        path: the starting file, absolute; empty for none.
        digest: SHA-256 of that file's bytes when it was read.
        model: the provider's name; empty for none.
        python: the interpreter that checks run under; empty for ours.
        spend_cap_usd: the cap that holds.
        cap_defaulted: nobody set it.
        tests: trusted test files, by path, for checks that pytest runs.
        layout: the project's own files that the program needs beside it, by path.
        package: what relative imports of the program are relative to; empty for none.
        audited: what the offline audit must no longer find, for a verified fix of a finding; None otherwise.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    request: SearchRequest
    at_work: str
    workspace: str
    path: str = ""
    digest: str = ""
    model: str = ""
    python: str = ""
    spend_cap_usd: float
    cap_defaulted: bool
    tests: dict[str, str] = Field(default_factory=dict)
    layout: dict[str, str] = Field(default_factory=dict)
    package: str = ""
    audited: Audited | None = None
