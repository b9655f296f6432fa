# `make demo` runs the main job on a real model; `make test` passes the tests. Both set up what they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all heavy fuzz lint verifier docs clean

$(BIN)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(BIN)/.ready
	sh examples/demo.sh $(BIN)

test: $(BIN)/.ready
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m 'not heavy and not gpu'

test-all: test heavy fuzz

# Coverage-guided fuzzing of everything that reads hostile bytes; `make fuzz RUNS=200000` for the long run.
RUNS ?= 5000
FUZZ := .fuzz/bin
$(FUZZ)/.ready: pyproject.toml
	$(PYTHON) -m venv .fuzz
	$(FUZZ)/python -m pip install --quiet --disable-pip-version-check -e . atheris==3.0.0
	touch $@

fuzz: $(FUZZ)/.ready
	for target in $$($(FUZZ)/python -c "import sys; sys.path.insert(0, 'tests/fuzz'); import targets; print(*targets.TARGETS)"); do \
	  echo "fuzzing $$target, $(RUNS) runs"; $(FUZZ)/python tests/fuzz/run.py $$target --runs $(RUNS) || exit 1; done

heavy: $(BIN)/.ready
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m heavy

lint: $(BIN)/.ready
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy src

# Writes the digest of the current verifier into the list of shipped ones; run it after a change of verify_release.py.
verifier: $(BIN)/.ready
	$(BIN)/python -c "import json, hashlib, pathlib, hubrelease; \
	f = pathlib.Path('src/hubrelease/shipped_verifiers.json'); d = json.loads(f.read_text()); \
	d[hubrelease.__version__] = hashlib.sha256(pathlib.Path('src/hubrelease/verify_release.py').read_bytes()).hexdigest(); \
	f.write_text(json.dumps(d, indent=2, sort_keys=True) + '\n')"

# Writes docs/findings.md from the checks' docstrings.
docs: $(BIN)/.ready
	$(BIN)/python -c "from hubrelease import explain; print(explain.markdown(), end='')" > docs/findings.md

clean:
	rm -rf $(VENV) build dist demo
