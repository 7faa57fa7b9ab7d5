# Everything sets itself up from a bare python3: a virtual environment under the project, then pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
PIP_QUIET := --quiet --disable-pip-version-check

.PHONY: demo test test-oldest lint types imports postgresql clean

demo: $(VENV)/.demo
	$(BIN)/entrenous demo

test: $(VENV)/.dev postgresql
	$(BIN)/pytest -n auto

# The other end of what pyproject.toml promises; the long attacks are on our mathematics, not on other libraries.
test-oldest: $(OLDEST)/.dev
	$(OLDEST)/bin/pytest -n auto -m "not attack"

# A server for the tests of the ledger, which start it as an ordinary user and stop it. Only root can install it; without
# it those tests say that they were skipped. RUNLEVEL=1: Debian would start a server of its own.
postgresql:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || test "$$(id -u)" != 0 || \
	  { apt-get update -qq; RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; } \
	  || echo "PostgreSQL could not be installed: its tests will be skipped"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

# Which room may import which: the contracts of pyproject.toml.
imports: $(VENV)/.dev
	$(BIN)/lint-imports

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install $(PIP_QUIET) --editable ".[demo]"
	touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install $(PIP_QUIET) --editable ".[dev]"
	touch $@ $(VENV)/.demo

$(OLDEST)/.dev: pyproject.toml oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install $(PIP_QUIET) --editable ".[dev]" --constraint oldest.txt
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) .venv-compare .venv-frontier dist entrenous-demo

# The figures of the demo in the README, on more splits.
.PHONY: figures
figures: $(VENV)/.demo
	$(BIN)/entrenous demo --out docs/demo --splits 50

# Attacks on real releases of every private algorithm, more of them and longer than in the suite.
.PHONY: audit
audit: $(VENV)/.demo
	PYTHONPATH=tests $(BIN)/python -m audit

# The ledger among many processes and under kill -9, and ten million draws of each exact noise: longer than in the suite.
.PHONY: trust
trust: $(VENV)/.dev postgresql
	cd benchmarks && ../$(BIN)/python trust_ledger.py
	cd benchmarks && ../$(BIN)/python trust_noise.py

# What a private ranking reaches at each epsilon, beside what one would use instead; peers have an environment of their own.
FRONTIER := .venv-frontier
.PHONY: frontier
frontier: $(VENV)/.demo $(FRONTIER)/.ready
	cd benchmarks && ../$(BIN)/python -m frontier --peers ../$(FRONTIER)/bin/python

$(FRONTIER)/.ready: pyproject.toml benchmarks/frontier/requirements.txt
	$(PYTHON) -m venv $(FRONTIER)
	$(FRONTIER)/bin/pip install $(PIP_QUIET) --editable . --requirement benchmarks/frontier/requirements.txt
	touch $@

# How fast the engine is, against simple things in the same run; then sparse and large tables of the real data sets.
.PHONY: bench
bench: $(VENV)/.demo
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/sparse.py
	$(BIN)/python benchmarks/scale.py

# AUC maximisation without privacy beside other libraries, which live in an environment of their own.
COMPARE := .venv-compare
.PHONY: compare
compare: $(COMPARE)/.ready
	$(COMPARE)/bin/python benchmarks/side_by_side.py

$(COMPARE)/.ready: pyproject.toml benchmarks/side_by_side_requirements.txt
	$(PYTHON) -m venv $(COMPARE)
	$(COMPARE)/bin/pip install $(PIP_QUIET) --editable ".[demo]" --requirement benchmarks/side_by_side_requirements.txt
	touch $@
