# Every target needs only Python 3.11+ and this checkout: they create the environment in .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
MODELS := ./packages/memoranda-models
RERANKER := ./packages/memoranda-reranker

# `make` alone lists the targets.
.DEFAULT_GOAL := help
.PHONY: help demo test check format walk crash fuzz engines mcp-conformance clean

help:  ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

demo: $(INSTALLED)  ## Remember a long conversation, restart, and answer from it: now, then, and why.
	$(BIN)/python -m memoranda.demo

test: $(READY)  ## All tests, in minutes.
	./scripts/system-packages
	$(BIN)/python scripts/small-llm
	$(BIN)/pytest -n auto

check: $(READY)  ## The gate for a change: format, lint, types, import direction, then all tests.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

format: $(READY)  ## Fix what ruff can fix, and format.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

walk: $(READY)  ## Count the files one remember and one recall pass through.
	$(BIN)/python scripts/walk.py

crash: $(READY)  ## Kill a writing process 2,000 times and count lost writes.
	$(BIN)/python -m tests.crash.run --kills 2000

fuzz: $(READY)  ## Send 20,000 requests generated from the server's OpenAPI document.
	$(BIN)/python -m tests.server.fuzz --requests 20000

engines: $(READY)  ## Test Chroma and mem0 in a separate environment, as they are large.
	$(PYTHON) -m venv .bench/engines
	.bench/engines/bin/python -m pip install --quiet $(MODELS) $(RERANKER) -e ".[cli,dev,chroma,mem0]"
	MEMORANDA_ENGINES=1 .bench/engines/bin/pytest tests/engines

mcp-conformance: $(READY)  ## Run the MCP conformance suite, inspector and reference server.
	./scripts/mcp-peers

clean:  ## Remove the environment and what was built.
	rm -rf $(VENV) build dist packages/*/build packages/*/dist

$(INSTALLED): pyproject.toml $(wildcard packages/*/*.*)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(MODELS) -e ".[cli]"
	touch $@

$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet $(RERANKER) -e ".[dev]"
	touch $@
