# Everything a person or a machine does with this checkout. `make help` lists it.
# Needs Python 3.11 or newer, Node.js 20 or newer, make and git; the rest is set up by itself, and only once.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# The first Python on PATH that is new enough; name another with `make PYTHON=/path/to/python ...`.
ifndef PYTHON
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
  if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then command -v $$p; break; fi; done)
endif

BIN := .venv/bin
TARGET ?= docs/examples/flawed-shop
ARGS ?=
# Two workers suit the two cores of the smallest machine in use; more gain nothing there.
JOBS ?= 2
PYTEST := PYTHONWARNDEFAULTENCODING=1 $(BIN)/python -m pytest
EXTENSION := $(wildcard extension/package.json)

.PHONY: help audit test test-editor test-all pictures check format lint types extension-check extension-test vsix vsix-offline soak bench pins release version docs clean runtime dev node

help: ## list what can be made
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

audit: runtime ## audit TARGET=path offline (without TARGET: a small flawed sample project)
	@$(BIN)/treewright audit "$(TARGET)" $(ARGS)

test: dev node lint types extension-check extension-test ## every gate: set-up, linters, types, all tests
	@$(PYTEST) -q -n $(JOBS) -m "not soak and not bench" tests $(ARGS) || { \
	  echo "== What failed is run once more, alone: some tests measure time, and two workers share the machine ==" ; \
	  $(PYTEST) -q --last-failed --last-failed-no-failures none -m "not soak and not bench" tests $(ARGS); }

test-editor: dev node ## the extension in a real VS Code 1.100.3 in a real browser
	@cd extension && npm run --silent test:host && npm run --silent test:e2e

test-all: test test-editor ## test, a recent VS Code too, and first use with nothing prepared
	@cd extension && npm run --silent test:full
	@cd extension && CODE_SERVER=4.139.1 npm run --silent test:host && CODE_SERVER=4.139.1 npm run --silent test:e2e

check: dev node lint types extension-check ## the fast inner loop: linters, types, quick unit tests
	@$(PYTEST) -q -n $(JOBS) -m "not slow and not soak and not bench" tests/unit $(ARGS)

pictures: dev node ## take the pictures of docs/pictures anew, in a real VS Code
	@cd extension && npm run --silent test:pictures

format: dev ## format the code and mend what the linter can mend
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

soak: dev ## the long form of the tests (hours); MINUTES=30 for the faults and the fuzzing by fresh chance, so long
ifdef MINUTES
	@$(BIN)/python -m tests.trust.soak --minutes "$(MINUTES)" $(ARGS)
else
	@$(PYTEST) -q --timeout=0 -m soak tests $(ARGS)
endif

bench: dev ## measure what docs/benchmarks reports
	@$(PYTEST) -q --timeout=0 -m bench -s tests $(ARGS)

pins: dev ## resolve requirements/*.txt anew from pyproject.toml and requirements/*.in
	@set -e; lock() { $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-emit-index-url --no-emit-find-links "$$@"; }; \
	lock pyproject.toml -o requirements/runtime.txt; \
	lock requirements/build.in -c requirements/runtime.txt -o requirements/build.txt; \
	lock requirements/dev.in -o requirements/dev.txt

clean: ## remove everything that was made here (the next command sets up again)
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build extension/node_modules extension/dist
	find server tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

lint: dev
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet .

types: dev
	@$(BIN)/mypy --no-error-summary

extension-check: node
ifneq ($(EXTENSION),)
	@cd extension && npm run --silent --if-present lint && npm run --silent --if-present typecheck
endif

extension-test: node
ifneq ($(EXTENSION),)
	@cd extension && npm run --silent test:unit
endif

vsix: dev node ## pack the extension for every platform into dist/
	@$(BIN)/python tools/package_extension.py

vsix-offline: dev node ## pack the extension for this platform with every wheel inside
	@$(BIN)/python tools/package_extension.py --offline

release: dev node ## build, check and list everything that is released, from the last commit, into dist/
	@$(BIN)/python -m tools.release $(ARGS)

version: dev ## say the version; with V=x.y.z: set it everywhere and date the changelog
	@$(BIN)/python -m tools.version $(V)

docs: dev ## generate docs/reference anew from the code
	@$(BIN)/python -m tools.reference

runtime dev: python-found
	@"$(PYTHON)" tools/environment.py $@

node: python-found
	@"$(PYTHON)" tools/environment.py node

.PHONY: python-found
python-found:
	@if [ -z "$(PYTHON)" ]; then \
	  echo "Treewright needs Python 3.11 or newer, and none was found on PATH." >&2; \
	  echo "Install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2; exit 1; fi
