# make book    executes every chapter and builds the book, from clean
# make test    unit tests, docstring examples, every chapter as a test
# make lint    ruff
# PYTHON=python3.12 picks the interpreter (3.10 to 3.13) for the environment in .venv.

PYTHON ?= python3
BIN := .venv/bin

# One thread for linear algebra: the tests already use every core, and sums come out the same everywhere.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

# Reaches the kernels that execute the chapters, which pytest's own settings do not.
# ipykernel itself starts its event loop in a deprecated way, so that one warning is let through.
WARNINGS := error,ignore:There is no current event loop

.PHONY: book test lint clean environment

book: environment
	rm -rf _build
	$(BIN)/python scripts/chapters.py notebooks book
	$(BIN)/jupyter-book build -n -W --keep-going .
	@$(BIN)/python scripts/chapters.py check _build/html

test: environment
	$(BIN)/python scripts/chapters.py notebooks build/notebooks
	PYTHONWARNINGS="$(WARNINGS)" $(BIN)/python -m pytest -n auto --dist loadscope \
		--nbval-lax --nbval-current-env tests recsample build/notebooks

lint: environment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

clean:
	rm -rf _build build book/*.ipynb .pytest_cache .ruff_cache .hypothesis *.egg-info

environment:
	@command -v "$(PYTHON)" > /dev/null || { \
		echo "$(PYTHON) was not found. Install Python 3.10 to 3.13, or name one: make PYTHON=/path/to/python3.12" >&2; \
		exit 1; }
	@"$(PYTHON)" scripts/environment.py
