# Every command of this project, and the only place that names them. `make` lists them.
# A bare machine needs python3 (3.11 or newer, with venv), make and git; everything else goes into .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INSTALL := $(PIP) install -c constraints.txt --build-constraint constraints.txt

# What `make demo` streams, which bench `make bench` runs, and more options for pytest.
FILE ?=
NAME ?=
ARGS ?=
# Where `make simulate` starts, and how many seeds it simulates.
SEED ?=
RUNS ?=
# Processes that share the tests: one more than the cores of a small machine, because some tests wait.
JOBS ?= 3
# Stores that must be tested: a missing one fails the run instead of being left out of it.
REQUIRE_STORES ?=

# What mysqlclient is built against.
MARIADB := $(abspath $(VENV))/debian-servers/mysqlclient
COMMA := ,

PYTEST := $(BIN)/python -m pytest $(if $(REQUIRE_STORES),--require-stores=$(REQUIRE_STORES))

# The theme's advertisement for its successor is not a warning about these pages.
export NO_MKDOCS_2_WARNING := 1
# Tests start many hundreds of interpreters, and each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-long servers mysqlclient simulate check format types layers bench docs docs-serve constraints clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.for-use ## Stream a real text through a consumer that is killed again and again (FILE=...)
	$(BIN)/tailrace demo $(FILE)

# A file stays in one process, with the servers that it starts. With ARGS there is only one: -s and --pdb need that.
test: $(VENV)/.for-work servers ## Run every test that takes seconds: some minutes in all (ARGS=... for pytest)
	$(PYTEST) $(or $(ARGS),--numprocesses=$(JOBS) --dist=loadfile --max-worker-restart=0)

test-long: $(VENV)/.for-work servers ## Run the tests that take minutes: crashes, scale, many processes
	$(PYTEST) -m long -o faulthandler_exit_on_timeout=false $(ARGS)

servers: $(VENV)/.for-work ## Fetch the servers for tests that are not installed with the tools (nothing is installed)
	@$(BIN)/python -m tailrace.testing.servers.fetching
	@$(BIN)/python -m tailrace.testing.servers.unpacking

mysqlclient: servers ## Build mysqlclient, which has no wheel, so that its tests run (needs a C compiler)
	MYSQLCLIENT_CFLAGS="-I$(MARIADB)/usr/include/mariadb" \
	  MYSQLCLIENT_LDFLAGS="$(foreach dir,$(wildcard $(MARIADB)/usr/lib/*-linux-gnu),-L$(dir) -Wl$(COMMA)-rpath$(COMMA)$(dir)) -lmariadb" \
	  $(PIP) install --no-cache-dir --no-binary mysqlclient --build-constraint constraints.txt 'mysqlclient>=2.2'

simulate: $(VENV)/.for-work ## Simulate the engine in virtual time: SEED=... first seed, RUNS=... how many
	$(BIN)/python -m tests.simulation --seed $(or $(SEED),0) --runs $(or $(RUNS),2000)

check: $(VENV)/.for-work ## Format, lint, types, import arrows, docs: everything that runs no product code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/unit/test_layers.py
	$(BIN)/mkdocs build --strict --quiet

format: $(VENV)/.for-work ## Rewrite the sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.for-work ## Measure against raw clients, as ratios of paired runs (NAME=... for one)
	$(BIN)/python -m bench $(NAME)

docs: $(VENV)/.for-work ## Build the documentation into site/, warnings as errors
	$(BIN)/mkdocs build --strict --quiet

docs-serve: $(VENV)/.for-work ## Serve the documentation while you write it
	$(BIN)/mkdocs serve

# Run it with the oldest Python that is supported (PYTHON=...): a pin for a newer one may not install on it.
constraints: ## Resolve every tool and library anew and pin what comes out
	rm -rf $(VENV)-resolve
	$(PYTHON) -m venv $(VENV)-resolve
	$(VENV)-resolve/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-resolve/bin/python -m pip install --quiet hatchling '.[cli,test,docs]' --group dev
	{ echo '# What the Makefile installs. Made by `make constraints`.'; \
	  $(VENV)-resolve/bin/python -m pip freeze --all --exclude tailrace --exclude setuptools; } > constraints.txt
	rm -rf $(VENV)-resolve

clean: ## Remove everything that was made here, .venv too
	rm -rf $(VENV) $(VENV)-resolve site dist bench-results .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# Stamps, so that a second run installs nothing. A venv without its stamp is a half-made one and is made again.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Tailrace needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.for-use: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) install -c constraints.txt --upgrade pip
	$(INSTALL) --editable '.[cli]'
	@touch $@

$(VENV)/.for-work: $(VENV)/.for-use
	$(INSTALL) --editable '.[cli,test,docs]' --group dev
	@touch $@
