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
# `make prove PROVE="kill faults" RUNS=500 SEED=7` runs a part: two regimes, 500 runs each.
PROVE ?= $(shell $(BIN)/python -m tests.prove.run --names)
SEED ?= $(shell date +%s)
PART_SECONDS ?= 3600

.PHONY: help demo test check format walk prove engines integrations postgres crash-postgres gpu browser-large mcp-conformance clean

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

prove: $(READY)  ## Run the long versions of the reliability tests (docs/reliability.md): hours.
	@for name in $(PROVE); do \
	    $(BIN)/python -m tests.prove.run $$name --seed $(SEED) --seconds $(PART_SECONDS) $(if $(RUNS),--runs $(RUNS)) || failed=1; \
	done; [ -z "$$failed" ]

engines: $(READY)  ## Test Chroma, mem0 and Ray in a separate environment, as they are large.
	$(PYTHON) -m venv .bench/engines
	.bench/engines/bin/python -m pip install --quiet $(MODELS) $(RERANKER) -e ".[dev,chroma,mem0,ray]"
	MEMORANDA_ENGINES=1 .bench/engines/bin/pytest tests/engines

# `make integrations NAMES="langgraph-store mem0"` runs a part.
integrations: $(READY)  ## Run the frameworks' own tests with our adapters, each in a separate environment.
	$(BIN)/python -m tests.integrations.run $(NAMES)

postgres: $(READY)  ## Test everything that takes a manager on PostgreSQL; POOLER=1 puts PgBouncer in front of it.
	MEMORANDA_POSTGRES=all $(if $(POOLER),MEMORANDA_PGBOUNCER=1) $(BIN)/pytest -n auto tests/postgres

crash-postgres: $(READY)  ## Kill PostgreSQL and its clients while they write: CLIENTS=2000 SERVERS=200 takes hours.
	$(BIN)/python -m tests.postgres.crash --clients $(or $(CLIENTS),2000) --servers $(or $(SERVERS),200) --seed $(SEED)

gpu: $(READY)  ## Test the search on a CUDA device, in a PyTorch of this machine.
	MEMORANDA_GPU=1 $(PYTHON) -m pytest tests/gpu

browser-large: $(READY)  ## Look at the dashboard in a browser with 100,000 memories.
	./scripts/system-packages
	PYTHONPATH=src:. $(BIN)/python benchmarks/dashboard.py --store .bench/large
	MEMORANDA_LARGE=.bench/large $(BIN)/pytest -s tests/browser/test_large_store.py

mcp-conformance: $(READY)  ## Run the MCP conformance suite, inspector and reference server.
	./scripts/mcp-peers

clean:  ## Remove the environment and what was built.
	rm -rf $(VENV) build dist packages/*/build packages/*/dist

$(INSTALLED): pyproject.toml $(wildcard packages/*/*.*)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(MODELS) -e .
	touch $@

$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet $(RERANKER) -e ".[dev]"
	touch $@
