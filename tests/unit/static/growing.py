"""Makes small projects whose modules call each other, and changes them one edit at a time."""

import random
from pathlib import Path

_HEAD = "import os\nimport sqlite3\nimport yaml\nfrom flask import Flask, request\n\napp = Flask(__name__)\n"
_BODIES = (
    "    return value\n",
    "    return int(value)\n",
    "    os.system('ping ' + value)\n    return value\n",
    "    db = sqlite3.connect('a.db')\n    return db.execute('SELECT * FROM t WHERE n = ' + value)\n",
    "    with open(os.path.join('/srv', value)) as stream:\n        return yaml.load(stream, Loader=yaml.Loader)\n",
    "    if value not in ('a', 'b'):\n        raise ValueError(value)\n    return value\n",
    "    return {module}.{name}(value)\n",
    "    result = {module}.{name}(value)\n    os.system(result)\n    return result\n",
    "    {module}.{name}(value)\n    os.system('ls ' + value)\n    return 'x'\n",
    "    return {module}.{name}(request.args['q'])\n",
    "    box = {module}.Box(value)\n    return box.run()\n",
    "    return request.args['q']\n",
)
_BOX = "\n\nclass Box{base}:\n    def __init__(self, value):\n        self.value = value\n\n    def run(self):\n{run}"
_RUNS = (
    "        return self.value\n",
    "        os.system(self.value)\n",
    "        os.system('x')\n        return 1\n",
)


class Growing:
    """A project of some modules with some functions each.

    Args:
        seed: the same seed gives the same project and the same edits. modules, functions: how many.
    """

    def __init__(self, seed: int, modules: int = 5, functions: int = 3) -> None:
        self.chance = random.Random(seed)
        self.names = [f"part{number}" for number in range(modules)]
        self.functions = [f"work{number}" for number in range(functions)]
        self.before = dict.fromkeys(self.names, "")
        self.bodies = {(module, name): self._body(module) for module in self.names for name in self.functions}
        self.routes = {key: self.chance.random() < 0.3 for key in self.bodies}
        self.boxes = {module: self._box(module) for module in self.names}
        self.others: dict[str, str] = {}

    def _body(self, module: str) -> str:
        other = self.chance.choice([name for name in self.names if name != module])
        return self.chance.choice(_BODIES).format(module=other, name=self.chance.choice(self.functions))

    def _box(self, module: str) -> str:
        other = self.chance.choice([name for name in self.names if name != module])
        base = self.chance.choice(("", f"({other}.Box)"))
        return _BOX.format(base=base, run=self.chance.choice(_RUNS))

    def text(self, module: str) -> str:
        """A module as it stands."""
        imports = "".join(f"import {name}\n" for name in self.names if name != module)
        parts = [self.before[module], _HEAD, imports]
        for name in self.functions:
            route = f"@app.route('/{module}/{name}/<value>')\n" if self.routes[module, name] else ""
            parts.append(f"\n\n{route}def {name}(value):\n{self.bodies[module, name]}")
        return "".join([*parts, self.boxes[module]])

    def write(self, folder: Path) -> None:
        """Write what differs from what is on disk."""
        wanted = {f"{module}.py": self.text(module) for module in self.names} | self.others
        for path in folder.glob("*"):
            if path.name not in wanted:
                path.unlink()
        for name, text in wanted.items():
            path = folder / name
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")

    def edit(self) -> str:
        """Change something, as a person would; gives what."""
        module, name = self.chance.choice(self.names), self.chance.choice(self.functions)
        kind = self.chance.choice(
            ("body", "body", "body", "body", "route", "box", "line", "file", "package", "script")
        )
        if kind == "body":
            self.bodies[module, name] = self._body(module)
        elif kind == "route":
            self.routes[module, name] = not self.routes[module, name]
        elif kind == "box":
            self.boxes[module] = self._box(module)
        elif kind == "line":
            self.before[module] += "# one line more\n"
        elif kind == "file":
            self._toggle("extra.py", f"import {module}\n\n\ndef main():\n    {module}.{name}(input())\n")
        elif kind == "package":
            self._toggle("pyproject.toml", "[project]\nname = 'x'\n")
        else:
            text = (
                f"const {{ exec }} = require('child_process');\nfunction {name}(x) {{ exec('ls ' + x); }}\n"
            )
            self._toggle(
                "page.js", text + f"require('express')().get('/', (req, res) => {name}(req.query.q));\n"
            )
        return f"{kind} {module}.{name}"

    def _toggle(self, name: str, text: str) -> None:
        if self.others.pop(name, None) is None:
            self.others[name] = text
