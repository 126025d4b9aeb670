# Says what an interpreter is, as one line of JSON. Runs on whatever Python 3 a user has, hence no newer syntax.
# Called as `python -I probe.py`: isolated, so that neither PYTHONPATH nor the user's own packages are seen.
import json
import sys

NEEDED = {"pygls": (2, 1), "lsprotocol": (2025,), "pydantic": (2, 10), "portalocker": (4,)}


def numbers(version):
    found = []
    for part in version.split("."):
        digits = "".join(c for c in part if c.isdigit())
        if not digits:
            break
        found.append(int(digits))
    return tuple(found)


def sidecar():
    """The version of the sidecar that is installed here with everything it needs to start; else why it is not."""
    try:
        from importlib import metadata
    except ImportError:
        return "", "too old"
    try:
        version = metadata.version("treewright")
    except metadata.PackageNotFoundError:
        return "", "not installed"
    for name, least in NEEDED.items():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            return "", name + " is missing"
        if numbers(found)[: len(least)] < least:
            return "", name + " " + found + " is too old"
    return version, ""


def installed(name):
    """Whether a module can be imported."""
    try:
        import importlib.util
    except ImportError:
        return False
    return importlib.util.find_spec(name) is not None


def main():
    version, why = sidecar()
    found = {
        "version": list(sys.version_info[:3]),
        "executable": sys.executable or "",
        "sidecar": version,
        "why": why,
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "venv": installed("venv") and installed("ensurepip"),
    }
    sys.stdout.write(json.dumps(found) + "\n")


main()
