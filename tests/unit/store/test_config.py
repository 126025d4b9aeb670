"""Configuration: layers, trust, errors with their place."""

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treewright.data import data_path
from treewright.errors import StoreError
from treewright.store.config import Configuration, check_search, load_config
from treewright.store.settings import Settings, trust_rules
from treewright.store.toml_lines import key_lines, line_of


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("TREEWRIGHT_HOME", str(folder))
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


def user(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text, encoding="utf-8")


def local(workspace: Path, text: str) -> None:
    (workspace / ".treewright.toml").write_text(text, encoding="utf-8")


def refused(**arguments: Any) -> StoreError:
    with pytest.raises(StoreError) as fault:
        load_config(**arguments)
    return fault.value


def test_the_packaged_values_alone_are_whole_and_valid() -> None:
    text = data_path("config", "defaults.toml").read_text(encoding="utf-8")
    packaged = Settings.model_validate(tomllib.loads(text, parse_float=Decimal))
    assert packaged.search.spend_cap_usd == Decimal("0.50")
    assert packaged.explore.spend_cap_usd == Decimal("2.00")
    assert packaged.subagent.engine == "manual"
    assert not packaged.autopilot.enabled
    assert packaged.modes.default_prompt_user


@pytest.mark.requirement("store:config:layers")
def test_later_layers_win_and_each_value_knows_where_it_comes_from(home: Path, workspace: Path) -> None:
    user(home, "[serial]\nmax_rounds = 4\nscore_threshold = 0.1\n[explore]\nlang = 'de'\n")
    local(workspace, "[serial]\nmax_rounds = 5\n")
    config = load_config(workspace=workspace, run={"explore.lang": "zh"})
    assert (config.settings.serial.max_rounds, config.settings.explore.lang) == (5, "zh")
    assert config.settings.serial.score_threshold == 0.1
    assert config.sources["serial.max_rounds"] == ("workspace", str(workspace / ".treewright.toml"), 2)
    assert config.sources["serial.score_threshold"] == ("user", str(home / "config.toml"), 3)
    assert config.sources["explore.lang"].layer == "run"
    assert config.is_default("search.enabled")
    assert not config.is_default("serial.max_rounds")


@pytest.mark.requirement("store:config:untrusted")
def test_an_untrusted_workspace_has_no_say_and_is_not_even_read(home: Path, workspace: Path) -> None:
    local(workspace, "this is [not toml")
    assert load_config(workspace=workspace, trusted=False).settings.serial.max_rounds == 3


@pytest.mark.requirement("store:config:workspace-trust")
@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("[providers.x]\nkind = 'openai'", "providers.x.kind", 2),
        ("[providers.x]\n# a key\napi_key = 'k'", "providers.x.api_key", 3),
        ("providers = {x = {kind = 'openai'}}", "providers.x.kind", 1),
        ("[subagent]\nendpoint = 'http://evil.example'", "subagent.endpoint", 2),
        ("[subagent]\nendpoints = ['http://evil.example']", "subagent.endpoints", 2),
        ("[subagent]\nnecort_path = './evil'", "subagent.necort_path", 2),
        ("[autopilot]\nendpoint = 'http://evil.example'", "autopilot.endpoint", 2),
        ("[autopilot]\nenabled = true", "autopilot.enabled", 2),
        ("[online]\nenabled = true", "online.enabled", 2),
        ("[online]\nsearch_url = 'http://evil.example'", "online.search_url", 2),
        ("[search]\nspend_cap_usd = 0.51", "search.spend_cap_usd", 2),
        ("search.spend_cap_usd = 1", "search.spend_cap_usd", 1),
        ("search = {spend_cap_usd = 1}", "search.spend_cap_usd", 1),
        ("[search]\nspend_cap_usd = inf", "search.spend_cap_usd", 2),
        ("[search]\nmax_candidates = 6", "search.max_candidates", 2),
        ("[search]\nper_branch_timeout_s = 61.0", "search.per_branch_timeout_s", 2),
        ("[explore]\nspend_cap_usd = 2.01", "explore.spend_cap_usd", 2),
        ("[deliberate]\nspend_cap_usd = 99", "deliberate.spend_cap_usd", 2),
        ("[kernels]\nnetwork = true", "kernels.network", 2),
        ("[kernels]\nallow_install = true", "kernels.allow_install", 2),
        ("[kernels]\nmemory_mb = 1", "kernels.memory_mb", 2),
        ("[kernels]\npython = './evil'", "kernels.python", 2),
        ("[store]\nroot = '/tmp/evil'", "store.root", 2),
        ("[models]\ndefault = 'x'", "models.default", 2),
    ],
)
def test_what_a_workspace_may_not_set_is_refused_with_its_place(
    home: Path, workspace: Path, text: str, key: str, line: int
) -> None:
    local(workspace, text)
    fault = refused(workspace=workspace)
    assert (fault.code, fault.details["key"], fault.details["line"]) == ("config_not_allowed", key, line)
    assert f".treewright.toml:{line}" in fault.message


@pytest.mark.requirement("store:config:workspace-lower")
def test_a_workspace_may_lower_a_cap_and_switch_things_off(home: Path, workspace: Path) -> None:
    user(home, "[search]\nspend_cap_usd = 3\n[explore]\nwidth = 50\n[online]\nenabled = true\n")
    local(
        workspace,
        "[search]\nspend_cap_usd = 0.75\nenabled = false\n[explore]\nwidth = 20\ndepth = 4\n[online]\nenabled = false\n",
    )
    settings_ = load_config(workspace=workspace).settings
    assert settings_.search.spend_cap_usd == Decimal("0.75")
    assert (settings_.explore.width, settings_.explore.depth) == (20, 4)
    assert not settings_.search.enabled
    assert not settings_.online.enabled
    for text in ("[explore]\nwidth = 0", "[explore]\nwidth = 51"):
        local(workspace, text)
        assert refused(workspace=workspace).code == "config_not_allowed"


def test_every_key_that_can_reach_out_spend_or_run_is_kept_from_workspaces() -> None:
    rules = trust_rules()
    risky = (
        "endpoint",
        "key",
        "root",
        "dir",
        "path",
        "url",
        "spend",
        "timeout",
        "allow",
        "network",
        "python",
    )
    open_keys = [key for key, rule in rules.items() if rule == "open"]
    assert not [key for key in open_keys if any(word in key for word in risky)]
    assert {rule for key, rule in rules.items() if key.startswith("kernels.")} == {"user"}
    assert rules["providers"] == "user"


@pytest.mark.requirement("store:config:unknown-key")
@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ("[search]\n\nspend_cap = 1", "search.spend_cap", "search.spend_cap_usd"),
        ("[serch]\nenabled = true", "serch", "search"),
        ("[search]\ncap = 1", "search.cap", "search."),
        ("[providers.x]\nkind = 'openai'\napikey = 'k'", "providers.x.apikey", "providers.x.api_key"),
        ("spend_cap_usd = 1", "spend_cap_usd", ""),
    ],
)
def test_an_unknown_key_is_an_error_that_names_the_nearest_one(
    home: Path, text: str, key: str, nearest: str
) -> None:
    user(home, text)
    fault = refused()
    assert (fault.code, fault.details["key"]) == ("config_unknown_key", key)
    assert fault.details["nearest"].startswith(nearest)
    assert fault.details["nearest"] in fault.hint


@pytest.mark.requirement("store:config:types")
@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("[search]\nenabled = 'yes'", "search.enabled", 2),
        ("[search]\nenabled = 1", "search.enabled", 2),
        ("[search]\n# cap\nspend_cap_usd = '1'", "search.spend_cap_usd", 3),
        ("[search]\nspend_cap_usd = nan", "search.spend_cap_usd", 2),
        ("[search]\nspend_cap_usd = inf", "search.spend_cap_usd", 2),
        ("[search]\nspend_cap_usd = -0.01", "search.spend_cap_usd", 2),
        ("[search]\nmax_candidates = true", "search.max_candidates", 2),
        ("[search]\nmax_candidates = 0", "search.max_candidates", 2),
        ("[search]\nper_branch_timeout_s = 0", "search.per_branch_timeout_s", 2),
        ("search = 3", "search", 1),
        ("[explore]\nmin_frameworks = 11", "explore.min_frameworks", 2),
        ("[explore]\nmin_novelty_ratio = 1.5", "explore.min_novelty_ratio", 2),
        ("[stages]\ndefault = []", "stages.default", 2),
        ("[subagent]\nengine = 'magic'", "subagent.engine", 2),
        ("[providers.x]\nendpoint = 'http://e.example'", "providers.x.kind", 2),
    ],
)
def test_a_wrong_value_is_an_error_with_file_and_line(home: Path, text: str, key: str, line: int) -> None:
    user(home, text)
    fault = refused()
    assert (fault.code, fault.details["key"], fault.details["line"]) == ("config_invalid", key, line)
    assert f"config.toml:{line}" in fault.message


def test_a_secret_never_shows(home: Path) -> None:
    secret = "sk-verysecret"
    text = f"[providers.x]\nkind = 'openai'\napi_key = '{secret}'\nheaders = {{a = '{secret}'}}\n"
    user(home, text)
    config = load_config()
    assert config.settings.providers["x"].api_key.get_secret_value() == secret
    assert secret not in repr(config)
    assert secret not in config.settings.model_dump_json()
    user(home, text + f"free = '{secret}'")
    fault = refused()
    assert secret not in fault.message + fault.hint + repr(fault.details)


def test_a_key_that_others_can_read_is_noticed(home: Path) -> None:
    user(home, "[providers.x]\nkind = 'openai'\napi_key = 'k'\n")
    (home / "config.toml").chmod(0o644)
    assert [notice.code for notice in load_config().notices] == ["config_readable_by_others"]
    (home / "config.toml").chmod(0o600)
    assert load_config().notices == ()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"[search", "config_syntax"),
        (b"[search]\nenabled = true\nenabled = false", "config_syntax"),
        (b"\xff\xfe", "config_unreadable"),
        (b"#" * (1 << 20) + b"##", "config_unreadable"),
        (b"a = " + b"[" * 5000, "config_syntax"),
    ],
)
def test_a_file_that_is_no_toml_is_an_error(home: Path, data: bytes, code: str) -> None:
    (home / "config.toml").write_bytes(data)
    assert refused().code == code


def test_byte_order_mark_and_crlf_are_no_fault(home: Path) -> None:
    (home / "config.toml").write_bytes(b"\xef\xbb\xbf[serial]\r\nmax_rounds = 7\r\n")
    config = load_config()
    assert config.settings.serial.max_rounds == 7
    assert config.sources["serial.max_rounds"].line == 2


def test_a_folder_or_a_device_in_place_of_a_file_counts_as_no_file(home: Path, workspace: Path) -> None:
    (home / "config.toml").mkdir()
    (workspace / ".treewright.toml").symlink_to("/dev/zero")
    assert load_config(workspace=workspace).settings.serial.max_rounds == 3


def test_the_root_is_where_the_variable_says_else_where_the_settings_say(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user(home, f"[store]\nroot = '{tmp_path}/other'\nsessions_dir = 'talks'\n")
    root = load_config().root
    assert (root.folder, root.sessions) == (home, home / "talks")
    monkeypatch.delenv("TREEWRIGHT_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_config().root.folder == tmp_path / "treewright"
    (tmp_path / "treewright").mkdir()
    user(tmp_path / "treewright", f"[store]\nroot = '{tmp_path}/other'\nindex_path = '/i/x.json'\n")
    root = load_config().root
    assert root.folder == tmp_path / "other"
    assert root.index == Path("/i/x.json")
    assert root.config == tmp_path / "treewright" / "config.toml"


@pytest.mark.requirement("cap:validator:codes")
def test_a_searchs_settings_are_checked(home: Path) -> None:
    def codes(config: Configuration, *, kernels: bool = True) -> list[str]:
        return [notice.code for notice in check_search(config, kernels=kernels)]

    assert codes(load_config()) == ["W052"]
    assert codes(load_config(), kernels=False) == ["E052", "W052"]
    user(home, "[search]\nspend_cap_usd = 0.50\nmax_candidates = 6\n")
    assert codes(load_config()) == ["W051"]
    user(home, "[search]\nspend_cap_usd = 0.50\nenabled = false\n")
    assert codes(load_config(), kernels=False) == []


# --- where keys are --------------------------------------------------------------------------------------------------


def test_lines_of_keys_are_found_through_tables_comments_and_long_strings() -> None:
    text = '# [no]\na = """\nb = 1\n"""\n[t."x.y"]  # c\n  k.l = 2\n\'q\' = 3\n[[list]]\nm = """one line"""\nn = 4\n'
    assert key_lines(text) == {
        ("a",): 2,
        ("t", "x.y"): 5,
        ("t", "x.y", "k", "l"): 6,
        ("t", "x.y", "q"): 7,
        ("list",): 8,
        ("list", "m"): 9,
        ("list", "n"): 10,
    }
    assert line_of(key_lines(text), ("t", "x.y", "k", "l", "deeper")) == 6
    assert line_of(key_lines(text), ("nowhere",)) == 1


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text(st.sampled_from("[]search.=\n\"'{}1tru# "), max_size=60))
def test_no_file_breaks_the_loader(home: Path, content: bytes | str) -> None:
    data = content.encode() if isinstance(content, str) else content
    (home / "config.toml").write_bytes(data)
    try:
        load_config()
    except StoreError as fault:
        assert fault.code.startswith("config_")
