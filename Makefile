# make demo   a walk through what exists, on made-up people
# make test   everything that the gate asks for
# make check P=queries  after every edit: lint, types, the architecture, and that package's quick tests
# make test-full  how far everything bends: all tests at their full size, fuzzing, lowest versions; long
# make bench  figures; long
# make docs   the documentation site, into build/site
# make dist   sdist and wheel, built twice with the same bytes, into dist
# make words  the translations: new texts are added without one, those that are gone are left out
# make bundle the browser client, built into the Python package
# make reproduction  the paper's evaluation, into docs; an hour, and needs the public tables (lopub data)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo check check-folder test test-full lint types unit bench reproduction golden words bundle docs dist clean

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

# Without P, the quick tests of all packages.
check: check-folder lint types
	$(BIN)/pytest -n 2 --dist loadgroup -m "not slow" $(if $(P),tests/test_architecture.py) tests/$(P) $(wildcard src/lopub/$(P))

check-folder:
	@test -d tests/$(P) || { echo "P is one of: $$(cd tests && ls -d */ | tr -d / | xargs); got $(P)"; exit 1; }

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

# On two cores, a third process fills the time in which tests wait for servers and browsers.
unit: $(VENV)/.dev clients/js/node_modules/.ready
	$(BIN)/pytest -n 3 --dist loadgroup --no-loadscope-reorder

test-full: $(VENV)/.dev clients/js/node_modules/.ready
	$(BIN)/python tests/full.py

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

words: $(VENV)/.dev
	$(BIN)/python tests/catalogues.py

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
