# make demo   a walk through what exists, on made-up people
# make test   everything that the gate asks for
# make check  the inner loop: lint, types and the quick tests, in about a minute
# make test-full  what a collector endures, with the full figures; long
# make bench  figures; long
# make docs   the documentation site, into build/site
# make dist   sdist and wheel, built twice with the same bytes, into dist
# make bundle the browser client, built into the Python package
# make reproduction  the paper's evaluation, into docs; an hour, and needs the public tables (lopub data)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo check test test-full lint types unit bench reproduction golden bundle docs dist clean

$(VENV)/.ready:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "LoPub needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.ready pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[all]"
	@touch $@

$(VENV)/.dev: $(VENV)/.ready pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[all,dev]"
	@touch $@ $(VENV)/.demo

# The browser client's tools; without Node its tests are skipped, which the gate does not accept.
clients/js/node_modules/.ready: clients/js/package-lock.json
	command -v npm >/dev/null && npm ci --prefix clients/js --no-audit --no-fund --loglevel=error && touch $@ || \
		echo "the browser client's tools are not installed; its tests will be missed" >&2

demo: $(VENV)/.demo
	$(BIN)/lopub demo --force

test: lint types unit

check: lint types clients/js/node_modules/.ready
	$(BIN)/pytest -n 4 --dist worksteal -m "not slow" tests

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

unit: $(VENV)/.dev clients/js/node_modules/.ready # on two cores, a third worker fills the time in which tests wait for servers and processes
	$(BIN)/pytest -n 3 --dist worksteal

test-full: $(VENV)/.dev
	LOPUB_FULL=1 $(BIN)/pytest tests/collector/test_collector_endurance.py tests/collector/test_collector_hostile.py tests/collector/test_collector_overload.py \
		tests/collector/test_collector_store_gone.py tests/collector/test_collector_power.py tests/collector/test_collector_upgrade.py \
		tests/collector/test_collector_fuzz.py tests/collector/test_collector_agreement.py tests/jobs \
		tests/console/test_console_browser.py tests/console/test_console_fuzz.py \
		tests/collector/test_collector_canary.py tests/collector/test_collector_machine.py tests/collector/test_sending_collector.py \
		tests/planning/test_alarms.py tests/cli/test_cli_killed.py tests/cli/test_cli_ending.py tests/browser_client tests/evaluation/audit
	$(BIN)/python -m pip install --quiet --editable ".[fuzz]" && $(BIN)/python tests/fuzzing.py all
	$(BIN)/python tests/lowest_versions.py

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/client.py
	$(BIN)/python benchmarks/browser_client.py
	$(BIN)/python benchmarks/simulate.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/counts.py
	$(BIN)/python benchmarks/counting.py
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python benchmarks/hashed.py
	$(BIN)/python benchmarks/complexity.py
	$(BIN)/python benchmarks/synthesis.py
	$(BIN)/python benchmarks/planning.py
	$(BIN)/python benchmarks/poisoning.py
	$(BIN)/python benchmarks/alarms.py
	$(BIN)/python benchmarks/service.py
	$(BIN)/python benchmarks/hostile.py
	$(BIN)/python benchmarks/console.py pages
	$(BIN)/python benchmarks/console.py viewers
	$(BIN)/python benchmarks/console.py cancels

reproduction: $(VENV)/.dev
	$(BIN)/python -m reproduction -o docs --force

golden: $(VENV)/.dev
	$(BIN)/python tests/golden/make_vectors.py

bundle: clients/js/node_modules/.ready
	npm run build --prefix clients/js

docs: $(VENV)/.dev # a warning, such as a link that leads nowhere, is a mistake
	$(BIN)/python -m sphinx -q -W --keep-going -d build/doctrees -b html docs build/site
	@echo "start with build/site/index.html"

# The files' times are those of the last commit, so that everybody who builds a release gets the same bytes.
dist: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
dist: $(VENV)/.dev
	rm -rf dist build/again
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --outdir build/again .
	diff -r dist build/again
	$(BIN)/twine check --strict dist/*

clean:
	rm -rf $(VENV) build clients/js/node_modules .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
