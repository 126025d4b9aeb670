"""How a function is reached from outside: routes, command lines, handlers, or being public."""

import ast
from dataclasses import dataclass, field

from treewright.performers.static.python.source import Source

_ROUTE_VERBS = frozenset(
    [
        "route",
        "errorhandler",
        "app_errorhandler",
        "exception_handler",
        "get",
        "post",
        "put",
        "delete",
        "patch",
        "options",
        "head",
        "websocket",
        "api_route",
        "view",
        "expose",
    ]
)
_ROUTERS = (
    "flask",
    "fastapi",
    "bottle",
    "aiohttp",
    "sanic",
    "starlette",
    "quart",
    "litestar",
    "robyn",
    "falcon",
)
_CLI = ("click", "typer", "fire", "cyclopts", "invoke")
_HANDLER_BASES = {
    "View": "django view", "APIView": "REST view", "ViewSet": "REST view", "ModelViewSet": "REST view",
    "GenericAPIView": "REST view", "Resource": "REST resource", "MethodView": "flask view",
    "RequestHandler": "tornado handler", "BaseHTTPRequestHandler": "HTTP handler", "HTTPEndpoint": "endpoint",
    "SimpleHTTPRequestHandler": "HTTP handler", "WebSocketHandler": "websocket handler",
    "BaseRequestHandler": "socket handler", "StreamRequestHandler": "socket handler", "WebsocketConsumer": "consumer",
    "AsyncWebsocketConsumer": "consumer", "TemplateView": "django view", "FormView": "django view",
    "ListView": "django view", "DetailView": "django view", "CreateView": "django view", "UpdateView": "django view",
}  # fmt: skip
_HANDLER_METHODS = frozenset(
    [
        "get",
        "post",
        "put",
        "patch",
        "delete",
        "head",
        "options",
        "dispatch",
        "handle",
        "do_GET",
        "do_POST",
        "do_PUT",
        "do_DELETE",
        "do_HEAD",
        "do_PATCH",
        "list",
        "create",
        "update",
        "retrieve",
        "destroy",
        "partial_update",
        "on_get",
        "on_post",
        "on_message",
        "receive",
        "open",
        "prepare",
        "form_valid",
    ]
)
WEB_ROOTS = frozenset(
    [
        "flask",
        "django",
        "rest_framework",
        "fastapi",
        "starlette",
        "aiohttp",
        "bottle",
        "sanic",
        "tornado",
        "quart",
        "pyramid",
        "falcon",
        "webob",
        "cherrypy",
        "web",
        "litestar",
        "werkzeug",
        "robyn",
        "http.server",
        "BaseHTTPServer",
        "channels",
        "connexion",
        "ninja",
        "flask_restful",
    ]
)


@dataclass(frozen=True, slots=True)
class Entry:
    """How a function is entered.

    Attributes:
        text: what a reader is told (`flask route '/x'`), empty when it is not an entry point.
        strength: of its parameters: 3 remote, 2 local, 1 public by convention, 0 internal.
        web: `flask`, `fastapi`, `django`, ... when what it returns becomes a response.
        clean: parameters that the framework hands in (dependencies, the request object itself).
        decorators: dotted names on it.
        route: the path given to the router, or empty.
    """

    text: str = ""
    strength: int = 0
    web: str = ""
    clean: frozenset[str] = frozenset()
    decorators: tuple[str, ...] = field(default=())
    route: str = ""


def web_framework(source: Source) -> str:
    """The web framework that a file imports, or empty."""
    for qualified in source.imports.values():
        root = qualified.partition(".")[0]
        if source.in_project(root):
            continue
        if root in WEB_ROOTS or qualified.startswith(("http.server", "rest_framework")):
            return {"rest_framework": "django", "quart": "flask", "starlette": "fastapi"}.get(root, root)
    return ""


def entry_of(source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef, cls: ast.ClassDef | None) -> Entry:
    """Work out how one function is entered."""
    framework = web_framework(source)
    decorators = tuple(source.dotted(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list)
    route = _route(source, node, framework)
    if route is not None:
        return Entry(route[0], 3, route[2], _framework_params(source, node), decorators, route[1])
    for name in decorators:
        root, last = name.lstrip("~").partition(".")[0], name.rpartition(".")[2]
        if (root in _CLI or any(v.partition(".")[0] in _CLI for v in source.imports.values())) and last in {
            "command", "group", "callback", "task",
        }:  # fmt: skip
            return Entry(f"command line of `{node.name}`", 2, "", frozenset({"ctx", "context"}), decorators)
        if last in {"task", "shared_task"}:
            return Entry(f"task `{node.name}`", 1, "", frozenset(), decorators)
    if cls is not None:
        return _method_entry(source, node, cls, framework, decorators)
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    if (
        names[:2] in (["event", "context"], ["event", "_context"], ["event", "_"])
        or node.name == "lambda_handler"
    ):
        return Entry(
            f"Lambda handler `{node.name}`", 3, "lambda", frozenset({"context", "_context", "_"}), decorators
        )
    if names and names[0] in {"request", "req"} and (framework or not source.library):
        return Entry(f"view `{node.name}`", 3, framework or "django", _GIVEN | {names[0]}, decorators)
    if not node.name.startswith("_"):
        return Entry(f"public function `{node.name}`", 1, "", frozenset(), decorators)
    return Entry("", 0, "", frozenset(), decorators)


_GIVEN = frozenset(
    ["exc", "exception", "err", "error", "e", "call_next", "next_handler", "handler", "get_response", "form", "obj", "queryset",
     "model_admin", "response", "app", "session", "db"]
)  # fmt: skip
"""Further parameters of a function whose first is the request that the framework or the program fills, not the client."""


def _method_entry(
    source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef, cls: ast.ClassDef, framework: str,
    decorators: tuple[str, ...],
) -> Entry:  # fmt: skip
    for base in cls.bases:
        last = source.dotted(base).rpartition(".")[2]
        kind = _HANDLER_BASES.get(last) or _HANDLER_BASES.get(last.lstrip("~"))
        if kind and node.name in _HANDLER_METHODS:
            web = "django" if kind in {"django view", "REST view"} else framework
            given = frozenset({"self", "request", "form"})
            return Entry(f"{kind} `{cls.name}.{node.name}`", 3, web, given, decorators)
    opens = node.name in {"__init__", "__call__"} or not node.name.startswith("_")
    if opens and not cls.name.startswith("_"):
        return Entry(f"public method `{cls.name}.{node.name}`", 1, "", frozenset({"self", "cls"}), decorators)
    return Entry("", 0, "", frozenset({"self", "cls"}), decorators)


def _route(
    source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef, framework: str
) -> tuple[str, str, str] | None:
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        func = call.func if call else decorator
        name = source.dotted(func)
        last = name.rpartition(".")[2].lstrip("~")
        if last in {"api_view", "view_config"}:
            return f"{last} `{node.name}`", "", "django" if last == "api_view" else "pyramid"
        if last not in _ROUTE_VERBS or not (isinstance(func, ast.Attribute) or framework == "bottle"):
            continue
        path = call.args[0] if call and call.args else None
        if call is not None and path is None:
            path = next((k.value for k in call.keywords if k.arg in {"path", "rule", "uri"}), None)
        shown = path.value if isinstance(path, ast.Constant) and isinstance(path.value, str) else ""
        if framework in _ROUTERS or last == "route" or shown.startswith("/"):
            return f"route `{shown}`" if shown else f"route `{node.name}`", shown, framework or "flask"
    return None


def _framework_params(source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Parameters that are not the caller's words: the request object, dependencies, background tasks."""
    found = {"self", "cls", "request", "req", "db", "session", "response", "background_tasks", "current_user"}
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    defaults = [None] * (len(node.args.posonlyargs + node.args.args) - len(node.args.defaults))
    for argument, default in zip(
        arguments, [*defaults, *node.args.defaults, *node.args.kw_defaults], strict=False
    ):
        if isinstance(default, ast.Call) and source.dotted(default.func).rpartition(".")[2].lstrip("~") in {
            "Depends", "Security", "Provide",
        }:  # fmt: skip
            found.add(argument.arg)
        note = argument.annotation
        if isinstance(note, ast.Subscript) and "Depends(" in source.segment(note):
            found.add(argument.arg)
    return frozenset(found)
