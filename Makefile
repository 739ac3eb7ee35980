# Each target does its own set-up in .venv; a second run is quick.
# Needs git, Python 3.11 or newer and make. Choose another Python with: make test PYTHON=/path

.POSIX:
.NOTPARALLEL:
.PHONY: help demo test lint bench clean

PYTHON =
BIN = .venv/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check -q install

help:
	@echo 'make demo    audit a made-up world, erase, audit again; the report goes to demo/'
	@echo 'make test    run the test suite'
	@echo 'make lint    ruff, its formatter and strict mypy'
	@echo 'make bench   run every benchmark'
	@echo 'make clean   remove .venv, the demo and all caches'

demo: .venv/demo.stamp
	$(BIN)/efface demo --out demo
	@echo "The reports are in $$(pwd)/demo: open report.html and pictures/report.html there."

test: .venv/dev.stamp
	$(BIN)/python -m pytest -n logical --dist loadfile

lint: .venv/dev.stamp
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

bench: .venv/bench.stamp
	@set -e; for script in bench/bench_*.py; do \
	  echo "== $$script"; $(BIN)/python "$$script"; \
	done

clean:
	rm -rf .venv demo out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is newer than pyproject.toml once what pyproject.toml asks for is installed.

# dlib has no wheel for some systems; the demo then leaves its pictures out and says so.
.venv/demo.stamp: .venv/python.stamp pyproject.toml
	@$(PIP) -e '.[dlib]' || { echo 'dlib cannot be installed here: going on without it'; \
	  $(PIP) -e .; }
	@touch $@

.venv/dev.stamp: .venv/python.stamp pyproject.toml
	$(PIP) -e '.[dev]'
	@touch $@ .venv/demo.stamp

.venv/bench.stamp: .venv/python.stamp pyproject.toml
	$(PIP) -e '.[bench]'
	@touch $@ .venv/demo.stamp

.venv/python.stamp:
	@set -e; found=; \
	for python in '$(PYTHON)' python3.13 python3.12 python3.11 python3 python3.14 python; do \
	  if [ -n "$$python" ] && "$$python" -c \
	    'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	  then found=$$python; break; fi; \
	  if [ -n "$$python" ] && [ "$$python" = '$(PYTHON)' ]; \
	  then echo "PYTHON=$$python is not a Python of 3.11 or newer." >&2; exit 1; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo 'No Python 3.11 or newer found: install one, or name it: make PYTHON=/path' >&2; \
	  exit 1; fi; \
	if ! "$$found" -c 'import venv, ensurepip' >/dev/null 2>&1; then \
	  name=$$("$$found" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
	  echo "$$found cannot make a virtual environment: install its venv module" >&2; \
	  echo "(Debian and Ubuntu: apt install $$name), then run make again." >&2; \
	  exit 1; fi; \
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  echo "Making .venv with $$found"; "$$found" -m venv .venv; fi
	@touch $@
