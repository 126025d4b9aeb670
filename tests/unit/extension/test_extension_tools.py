"""Rules of the tools that install an editor for the tests and pack the extension."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"


def tool(name: str) -> ModuleType:
    """Load a script as a module."""
    spec = importlib.util.spec_from_file_location(f"tool_{name}", TOOLS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_what_an_npm_around_us_says_does_not_reach_the_npm_that_we_run() -> None:
    given = {"PATH": "/bin", "npm_config_ignore_scripts": "true", "NODE_OPTIONS": "--x", "HOME": "/h"}
    assert tool("install_vscode").clean_environment(given) == {"PATH": "/bin", "HOME": "/h"}


def test_only_missing_programs_are_to_be_installed() -> None:
    install = tool("install_vscode")
    everything = dict.fromkeys(install.DEBIAN, True)
    assert install.missing_packages(everything, fonts=True) == []
    assert install.missing_packages({**everything, "rg": False}, fonts=True) == ["ripgrep"]
    assert set(install.FONTS) <= set(install.missing_packages(everything, fonts=False))


def test_the_server_lies_outside_the_checkout(tmp_path: Path) -> None:
    install = tool("install_vscode")
    chosen = install.cache_folder("4.100.3", {"TREEWRIGHT_VSCODE_CACHE": str(tmp_path)})
    assert chosen == tmp_path / "4.100.3"
    assert install.cache_folder("1", {"XDG_CACHE_HOME": str(tmp_path)}).is_relative_to(tmp_path)


def test_platforms_are_named_as_the_editor_names_them() -> None:
    package = tool("package_extension")
    assert package.target("Linux", "x86_64") == "linux-x64"
    assert package.target("Darwin", "arm64") == "darwin-arm64"
    with pytest.raises(package.PackError):
        package.target("Plan9", "x86_64")
