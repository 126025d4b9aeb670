"""Spans for OpenTelemetry when the user configured it; nothing is imported otherwise."""

import importlib
import os
from collections.abc import Mapping
from typing import Any

from treewright.search.ports import Span, Tracer

_CONFIGURED = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class _OpenSpan:
    def __init__(self, span: Any) -> None:
        self.span = span

    def set(self, name: str, value: str | float | bool) -> None:
        self.span.set_attribute(name, value)

    def end(self) -> None:
        self.span.end()


class _OpenTelemetry:
    def __init__(self, api: Any) -> None:
        self._api = api
        self._tracer = api.get_tracer("treewright")

    def start(self, name: str, parent: Span | None = None) -> Span:
        context = self._api.set_span_in_context(parent.span) if isinstance(parent, _OpenSpan) else None
        return _OpenSpan(self._tracer.start_span(name, context=context))


def find_tracer(environ: Mapping[str, str] | None = None) -> Tracer | None:
    """Return a tracer when OpenTelemetry is configured in the environment and installed, else None."""
    env = os.environ if environ is None else environ
    if not any(env.get(name, "") not in ("", "none") for name in _CONFIGURED):
        return None
    try:
        return _OpenTelemetry(importlib.import_module("opentelemetry.trace"))
    except ImportError:
        return None
