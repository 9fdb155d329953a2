# make book    executes every chapter and builds the book, from clean; its theme needs Python 3.11 or newer
# make page    one page of the book alone, without its links to others: PAGE=traps
# make test    unit tests, docstring examples, every chapter as a test
# make unit    unit tests and docstring examples alone
# make coverage   the same, and which lines and branches of the package none of them takes: 95 % are asked for
# make lint    ruff on the package, the tests and the chapters' code, mypy on the package
# make tools   tests of what stands around the package, and thorough ones that repeat what others try once
# make pages   every page of the built book in a browser
# make running every chapter, run in a browser's Python from top to bottom: minutes
# make data    what is recorded of MovieLens-1M, against the real data; see CONTRIBUTING.md
# make site    Python for browsers laid beside the built book; OFFLINE=folder of Pyodide's distribution
# make binder  every notebook that Binder or a page offers, where nothing but the wheel, its extras and Jupyter is;
#              PAGES="start cheat_sheet" for some
# make oldest  unit tests and docstring examples with the oldest libraries that pyproject.toml allows
# make kernels tests that compute, with the kernels of NumPy and OpenBLAS for other processors; KERNELS=baseline for one
# make engines counts and ranks on clusters of Dask and Spark; needs Java 17, and builds PySpark
# make peers   the numbers of fifteen other libraries beside this one's, and the lines of "Coming from another library"
#              with fitted models; brings PyTorch along
# make bench   times this package beside others, into recsample/data/records; THREADS=8 for eight threads;
#              BENCH=--check names what takes 1.5 times as many limits as was kept, and keeps nothing
# make dist    the source archive, the wheel and the site of this version in dist/, checked; after make book
# make lock    requirements.lock, the versions that all of this installs, anew; LOCK= goes without it
# make clean   removes what all of these make, but for .venv
# PYTHON=python3.12 picks the interpreter (3.10 to 3.14) for the environment in .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# One thread for linear algebra: the tests already use every core, and sums come out the same everywhere.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

# Kernels say on every start that Python's own modules cannot be debugged.
export PYDEVD_DISABLE_FILE_VALIDATION := 1

# Every chapter is a Python of its own, which should not have to compile NumPy and pandas anew.
unexport PYTHONDONTWRITEBYTECODE

# Python warns of files that are opened without an encoding; what others open so is theirs.
UNIT = PYTHONWARNINGS=ignore::EncodingWarning PYTHONWARNDEFAULTENCODING=1 $(PYTEST) --dist loadscope
PYTEST = $(BIN)/python -m pytest -q -n auto

# What is said on the way is needed only if there is no book in the end.
LOGGED = >> _build/book.log 2>&1 || { grep -v "Kernel is running over TCP" _build/book.log >&2; exit 1; }

BUILT = test -f _build/html/index.html || { echo "There is no book in _build/html: run make book first." >&2; exit 1; }

.PHONY: book page test unit coverage lint tools pages running data site binder oldest kernels engines clusters peers compared bench \
	measured dist lock clean environment FORCE

book: environment
	@$(BIN)/python -c "import sys; sys.exit(sys.version_info < (3, 11))" || { \
		echo "The book's theme needs Python 3.11 or newer: make book PYTHON=python3.12" >&2; exit 1; }
	@rm -rf _build && mkdir _build
	@$(BIN)/python scripts/chapters.py notebooks book
	@echo "Executing every chapter, as many at once as there are cores."
	@$(BIN)/python scripts/chapters.py execute _build/.jupyter_cache $(LOGGED)
	@echo "Building the pages."
	@$(BIN)/jupyter-book build -n -W --keep-going . $(LOGGED)
	@$(BIN)/python scripts/chapters.py check _build/html

# A table of contents of its own: what other pages hold is not found, and not warned of.
PAGE ?= index
page: environment
	@rm -rf build/page && mkdir -p build/page
	@printf 'format: jb-book\nroot: book/$(PAGE)\n' > build/page/_toc.yml
	@$(BIN)/jupyter-book build -qq . --toc build/page/_toc.yml --path-output build/page
	@echo "The page: $(CURDIR)/build/page/_build/html/book/$(PAGE).html"

# Reaches the kernels of the chapters, which pytest's own settings do not. ipykernel starts its event loop in a deprecated
# way, and others open files without naming an encoding, of which Python is made to warn for our own sake.
WARNINGS := error,ignore::EncodingWarning,ignore:There is no current event loop

# The chapters come first, so that no core is left alone with a long one.
test: environment
	@$(BIN)/python scripts/chapters.py notebooks build/notebooks
	@echo "Running every test and every chapter. A dot stands for a hundred that passed."
	@PYTHONWARNINGS="$(WARNINGS)" PYTHONWARNDEFAULTENCODING=1 $(PYTEST) --dist loadscope --no-loadscope-reorder \
		--nbval-lax --nbval-current-env build/notebooks tests recsample

unit: environment
	$(UNIT) tests recsample

coverage: environment
	$(UNIT) --cov=recsample --cov-branch --cov-report=term-missing:skip-covered --cov-fail-under=95 tests recsample

# The layout of a chapter's code is left to its author: only the rules are checked there.
lint: environment
	$(BIN)/python scripts/chapters.py notebooks build/notebooks
	$(BIN)/ruff check . build/notebooks/*.ipynb
	$(BIN)/ruff format --check .
	$(BIN)/mypy

tools: environment
	$(PYTEST) --dist loadscope tests/tools
	$(PYTEST) -m thorough tests

pages: environment
	@$(BUILT)
	$(PYTEST) --dist worksteal tests/built

running: environment
	@$(BUILT)
	$(PYTEST) --dist worksteal -m running tests/built/test_running.py

data: environment
	$(PYTEST) -m data tests

site: environment
	@$(BUILT)
	$(BIN)/python scripts/sphinx_additions/running.py _build/html "$(OFFLINE)"

binder: environment
	@$(INDEX) PYTHON="$(BIN)/python" .ci/binder $(PAGES)

# For Python 3.10: newer ones have no wheels of the oldest versions. Old versions of one library use what new versions of
# another have deprecated.
oldest:
	rm -rf build/oldest
	UV_RESOLUTION=lowest-direct PYTEST_ADDOPTS="-W ignore::DeprecationWarning" $(MAKE) unit VENV=build/oldest

# NumPy and OpenBLAS choose their kernels by the processor, and each rounds in its own way. "baseline" takes from NumPy
# whatever is newer than what every build takes for granted. The others take AVX-512, and OpenBLAS has the kernel of that
# processor, or one of its own choice where this machine cannot run it; with two threads.
KERNELS ?= baseline Prescott Nehalem Sandybridge Haswell Zen SkylakeX
TOLERANCE = approx\(|allclose|isclose|[0-9]e-[0-9]
WITHOUT = from numpy._core import _multiarray_umath as m; print(*[f for f in m.__cpu_dispatch__ \
	if m.__cpu_features__[f] and ('$$core' == 'baseline' or f.startswith(('AVX512', 'X86_V4')))])
kernels: environment
	@for core in $(KERNELS); do without=$$($(BIN)/python -c "$(WITHOUT)"); echo "$$core, without $$without"; \
		NPY_DISABLE_CPU_FEATURES="$$without" OPENBLAS_CORETYPE=$$core OPENBLAS_NUM_THREADS=2 $(PYTEST) --dist loadscope \
		$$(grep -rlE "$(TOLERANCE)" --include="test_*.py" --exclude-dir=tools --exclude-dir=built tests) || exit 1; done

# PySpark is built from its sources, and warns of what others ask for.
engines:
	$(MAKE) clusters VENV=build/engines

clusters: environment
	@$(INSTALL) "pyspark>=4.0,<5"
	$(BIN)/python -m pytest -q -m clusters tests/ranks/test_counts_on_engines.py tests/ranks/test_engines.py

# With the newest versions: some ask for others than the rest. LightFM has no wheels that work, so a compiler builds it.
peers:
	@$(MAKE) compared VENV=build/peers LOCK=

compared: environment
	@$(call EACH,requirements-others.txt,--no-build,what compares with it is skipped)
	@$(INSTALL) "lightfm-next>=1.19" || echo "LightFM: not installed, see above; what compares with it is skipped."
	@$(BIN)/python -m pytest -q tests/metrics/test_other_libraries.py tests/metrics/test_peers.py \
		tests/test_coming_from_elsewhere.py

bench:
	$(MAKE) measured VENV=build/bench

THREADS ?= 1
measured: environment
	@$(call EACH,benchmarks/requirements.txt,,it is not measured)
	OPENBLAS_NUM_THREADS=$(THREADS) OMP_NUM_THREADS=$(THREADS) MKL_NUM_THREADS=$(THREADS) \
		$(BIN)/python -m pytest -rs -o filterwarnings=default \
		-o python_files="bench_*.py" $(BENCH) benchmarks

# TAG=v0.2.0 must be the version that pyproject.toml names.
dist: environment
	@$(BUILT)
	@test -z "$(TAG)" || grep -qx 'version = "$(TAG:v%=%)"' pyproject.toml || { \
		echo "The tag $(TAG) is not the version of pyproject.toml." >&2; exit 1; }
	rm -rf dist
	$(UV) build --quiet
	$(UV) tool run --from "twine>=6.1,<7" twine check --strict dist/*
	$(BIN)/python -c "import shutil; shutil.make_archive('dist/recsample-book', 'zip', '_build', 'html')"

clean:
	rm -rf _build build dist book/*.ipynb .pytest_cache .ruff_cache .mypy_cache .hypothesis

# The environment. A fresh machine has make and Python: pip brings uv, and uv all the rest.
# The versions: those of requirements.lock, or with LOCK= (empty) the newest that the lists allow. Who asks uv
# for another choice of versions, as `make oldest` does, does not mean the lock.
LOCK ?= $(if $(UV_RESOLUTION),,requirements.lock)
PINS = $(or $(LOCK),requirements.txt)
# uv does not read pip's configuration, which is where a mirror of the package index may be named.
MIRROR = $(BIN)/python -m pip config list | sed -n "s/.*[.]index-url='\(.*\)'/\1/p" | head -n 1
INDEX = UV_DEFAULT_INDEX="$${UV_DEFAULT_INDEX:-$$($(MIRROR))}"
UV = $(INDEX) $(BIN)/uv
# Whatever else is installed, what the package needs stays as pyproject.toml asks for it.
INSTALL = $(UV) pip install --quiet --python $(BIN)/python --constraint $(PINS) --requirement pyproject.toml --all-extras
# Installs the lines of a list. What cannot be had here is left out, uv says why, and so do the tests that need it.
EACH = sed 's/\#.*//' $(1) | while read -r one; do test -z "$$one" || $(INSTALL) $(2) $$one < /dev/null || \
	echo "$$one: not installed, see above; $(3)."; done

environment: $(VENV)/installed

# Nothing is compiled for the libraries to compare with.
$(VENV)/installed: $(VENV)/interpreter requirements.txt requirements-peers.txt pyproject.toml $(LOCK)
	@echo "Installing what pyproject.toml and requirements.txt list into $(VENV), the first time over the network."
	@$(INSTALL) --requirement requirements.txt --editable .
	@$(call EACH,requirements-peers.txt,--no-build,what compares with it is skipped)
	@touch $@

# Of every library the newest that the lists allow, on every Python and system. RecTools is left out: it contradicts
# the others, and is pinned where it stands.
lock: $(VENV)/interpreter
	@sed '/^--no-deps/d' requirements-peers.txt | UV_CUSTOM_COMPILE_COMMAND="make lock" $(UV) pip compile \
		--quiet --universal --python-version 3.10 --upgrade --generate-hashes --no-annotate --no-emit-index-url \
		--output-file requirements.lock --all-extras pyproject.toml requirements.txt - > /dev/null

# Another interpreter, other pins, or the project in another place make the environment from nothing.
ANOTHER := or name another one: make PYTHON=/path/to/python3.12
$(VENV)/interpreter: FORCE
	@"$(PYTHON)" -c "import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))" 2> /dev/null || { \
		echo "recsample needs Python 3.10 to 3.14. $(PYTHON) is: $$("$(PYTHON)" --version 2>&1)"; \
		echo "Install Python, $(ANOTHER)"; exit 1; } >&2
	@"$(PYTHON)" -c "import ensurepip, venv" || { \
		echo "$(PYTHON) cannot make virtual environments, see above. On Debian and Ubuntu:"; \
		echo "apt install python3-venv. Elsewhere install Python from python.org, $(ANOTHER)"; exit 1; } >&2
	@is=$$("$(PYTHON)" -c "import os, sys; print(sys.base_prefix, sys.version, os.getcwd(), '$(LOCK)')"); \
	test "$$is" = "$$(cat $@ 2> /dev/null)" || { \
		"$(PYTHON)" -m venv --clear $(VENV) && \
		sed -n '/^uv[=>]/,/[^\\]$$/p' $(PINS) > $(VENV)/uv.txt && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $(VENV)/uv.txt && \
		echo "$$is" > $@; }

FORCE:
