# `make demo` and `make test` need only Python 3.11+ and this checkout: both make their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
MODELS := ./packages/memoranda-models
RERANKER := ./packages/memoranda-reranker

.PHONY: demo test check format crash fuzz engines mcp-conformance clean

demo: $(INSTALLED)  ## Remember a long conversation, restart, and ask about it.
	$(BIN)/python -m memoranda.demo

test: $(READY)  ## Everything that must hold, in minutes.
	./scripts/system-packages
	$(BIN)/python scripts/small-llm
	$(BIN)/pytest -n auto

check: $(READY)  ## The gate: format, lint, types, import direction, tests.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

crash: $(READY)  ## Kill a writing process 2,000 times and count what was lost.
	$(BIN)/python -m tests.crash.run --kills 2000

fuzz: $(READY)  ## 20,000 requests made up from the server's own OpenAPI document.
	$(BIN)/python -m tests.server.fuzz --requests 20000

engines: $(READY)  ## The vector stores and peers that are too large for the ordinary tests, in an environment of their own.
	$(PYTHON) -m venv .bench/engines
	.bench/engines/bin/python -m pip install --quiet $(MODELS) $(RERANKER) -e ".[cli,dev,chroma,mem0]"
	MEMORANDA_ENGINES=1 .bench/engines/bin/pytest tests/engines

mcp-conformance: $(READY)  ## Outsiders' own checks of the MCP door: conformance runner, inspector, reference server.
	./scripts/mcp-peers

clean:
	rm -rf $(VENV) build dist packages/*/build packages/*/dist

$(INSTALLED): pyproject.toml $(wildcard packages/*/*.*)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(MODELS) -e ".[cli]"
	touch $@

$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet $(RERANKER) -e ".[dev]"
	touch $@
