# make book    executes every chapter and builds the book, from clean; its theme needs Python 3.11
# make test    unit tests, docstring examples, every chapter as a test
# make tools   tests of what stands around the package: the checks of the pages, the book's pictures and extensions
# make pages   every page of the built book in a browser
# make lint    ruff on the package, the tests and the chapters' code, mypy on the package
# make binder  Binder's files, followed in a copy of the project: two chapters as notebooks
# make oldest  unit tests and docstring examples with the oldest versions that pyproject.toml allows
# PYTHON=python3.12 picks the interpreter (3.10 to 3.13) for the environment in .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# One thread for linear algebra: the tests already use every core, and sums come out the same everywhere.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

# Reaches the kernels that execute the chapters, which pytest's own settings do not.
# ipykernel itself starts its event loop in a deprecated way, so that one warning is let through.
WARNINGS := error,ignore:There is no current event loop

.PHONY: book test tools pages lint binder oldest clean environment

book: environment
	@$(BIN)/python -c "import sys; sys.exit(sys.version_info < (3, 11))" || { \
		echo "The book's theme needs Python 3.11 or newer: make book PYTHON=python3.12" >&2; exit 1; }
	rm -rf _build
	$(BIN)/python scripts/chapters.py notebooks book
	$(BIN)/python scripts/chapters.py execute _build/.jupyter_cache
	$(BIN)/jupyter-book build -n -W --keep-going .
	@$(BIN)/python scripts/chapters.py check _build/html

test: environment
	$(BIN)/python scripts/chapters.py notebooks build/notebooks
	PYTHONWARNINGS="$(WARNINGS)" $(BIN)/python -m pytest -rs -n auto --dist loadscope \
		--nbval-lax --nbval-current-env tests recsample build/notebooks

tools: environment
	$(BIN)/python -m pytest -rs -n auto --dist worksteal tests/tools

# The layout of a chapter's code is left to its author: only the rules are checked there.
lint: environment
	$(BIN)/python scripts/chapters.py notebooks build/notebooks
	$(BIN)/ruff check . build/notebooks/*.ipynb
	$(BIN)/ruff format --check .
	$(BIN)/mypy

binder: environment
	$(BIN)/python scripts/binder.py

# In an environment of its own, for Python 3.10: newer ones have no wheels of the oldest versions.
# Old versions of one library use what new versions of another have deprecated.
oldest:
	mkdir -p build
	grep -oE '"[a-z]+>=[0-9.]+"' pyproject.toml | tr -d '"' | sed 's/>=/==/' > build/oldest.txt
	PIP_CONSTRAINT="$(CURDIR)/build/oldest.txt" $(MAKE) environment VENV=build/oldest
	build/oldest/bin/python -m pytest -n auto --dist loadscope -W "ignore::DeprecationWarning" \
		--ignore tests/built --ignore tests/tools tests recsample

pages: environment
	@test -f _build/html/index.html || { \
		echo "There is no book in _build/html to look at: run make book first." >&2; exit 1; }
	$(BIN)/python -m pytest -rs -n auto --dist worksteal tests/built/test_built_book.py

clean:
	rm -rf _build build book/*.ipynb .pytest_cache .ruff_cache .mypy_cache .hypothesis *.egg-info

environment:
	@command -v "$(PYTHON)" > /dev/null || { \
		echo "$(PYTHON) was not found. Install Python 3.10 to 3.13, or name one: make PYTHON=/path/to/python3.12" >&2; \
		exit 1; }
	@"$(PYTHON)" scripts/environment.py "$(VENV)"
