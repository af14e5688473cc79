# make bench    set up the environment, build what the scenario `quick` needs, measure, and show tables and report
# make test     build hopmeter's own transports and those of `quick`, and run the tests that need only these
# make test-rest  build everything and run the other tests: all transports, several hosts, failures, packages, simulations
# make lint     check format and style, without changing files
# make all      set up and build everything                make wheel   the package, into dist/
# make nightly  run the long tests that both omit: bare programs, a new transport, heavy frameworks
# make conformance TRANSPORT=NAME   run the conformance suite for one transport, or by default for all
# make benches  compare hopmeter with bare programs (docs/benches.md); BENCHES="ring peers" selects some
# make aarch64  build everything that needs no system library for aarch64, and test it under emulation
# make format   format all sources                          make clean   remove all build outputs (not results/)
# make docs     build the documentation site in build/docs
# make coverage report the lines that the fast tests reach, in build/coverage; PARTS=python or rust
# make lock     update the lock files setup/*.lock; UPGRADE=1 uses the newest versions of the Python packages
#
# HOPMETER_CACHE=DIR   share Cargo builds and uv downloads between clones
# SCENARIO=NAME        the scenario that `make bench` measures (default: quick)
# PYTHON=COMMAND       the Python with which .venv is created (3.11 or newer)

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := bench
.DELETE_ON_ERROR:
.PHONY: bench benches conformance fast test test-rest test-rust test-rust-rest test-cpp test-python test-python-rest test-torch test-setup nightly test-nightly test-codecs test-gpu test-r2r lint lint-rust lint-python lint-names lint-cpp lint-shell lint-docs docs coverage format all aarch64 lock wheel clean

SCENARIO ?= quick
VENV := .venv
BIN := $(VENV)/bin
STAMPS := build/stamps
LOCK := setup/python.lock
export NO_MKDOCS_2_WARNING := 1
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# Some images disable the bytecode cache. Every command and node, thousands in a test run, would then compile its imports.
export PYTHONDONTWRITEBYTECODE :=
ifdef HOPMETER_CACHE
export CARGO_TARGET_DIR ?= $(abspath $(HOPMETER_CACHE))/cargo
export UV_CACHE_DIR ?= $(abspath $(HOPMETER_CACHE))/uv
endif

# Packages for testing and linting, in addition to the libraries that the transports' manifests name.
LINT_PACKAGES := clang-format shellcheck
# The schema compilers, which build codec libraries for users' messages.
MESSAGE_PACKAGES := flatbuffers-compiler libfastcdr-dev libflatbuffers-dev libprotobuf-dev protobuf-compiler
TEST_PACKAGES := chromium chromium-driver iproute2 ninja-build openssh-client libwrap0
AARCH64_PACKAGES := cmake g++-aarch64-linux-gnu ninja-build qemu-user
# The system's PyTorch package, for the system's Python, because the one in the Python registry includes CUDA.
TORCH_PACKAGE := python3-torch
SYSTEM_PYTHON := /usr/bin/python3
# The oldest Python version on which nodes run: that of Ubuntu 22.04.
NODE_PYTHON := 3.10
# Packages that are too heavy for .venv, or conflict with it, have separate environments. Environments that users also
# have borrow pytest from `build/pytest`.
FRAMEWORKS := build/environments/frameworks
HEAVY := jax tensorflow paddle cupy
APART := build/environments/codec-
# Tests for which .venv has no framework: `make test-torch` and `make test-codecs` run them.
APART_TESTS := $(addprefix tests/codecs/,test_tensors.py test_mxnet.py test_devices.py test_cells.py test_shared_tensors.py)
TORCH_TESTS := $(addprefix tests/codecs/,test_tensors.py test_devices.py test_shared_tensors.py)

INSTRUMENT := Cargo.toml Cargo.lock $(shell find instrument -name '*.rs' -o -name Cargo.toml)
# Outside the workspace, so that Cargo does not see it.
TEMPLATE := transports/_template/rust/src/main.rs $(wildcard instrument/codecs/*.rs)
# The crates with tests: the instrument, the crates of hopmeter's own transports, and nodes of other transports.
CRATES := $(shell for folder in instrument instrument/c transports/*/rust; do \
	! grep -rqF '#[test]' "$$folder" --include='*.rs' || echo "$$folder/Cargo.toml"; done)
FAST := $(shell sed -n 's/^transport = \[\(.*\)\]/\1/p' tests/fast.toml | tr -d '",')
OWN_CRATES := $(filter instrument/% transports/_% $(FAST:%=transports/%/%),$(CRATES))
CPP := $(shell find cpp transports benches conformance tests \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' \) \
	-not -name abi.h 2>/dev/null)
# A failed test runs once more, and the summary shows the first failure; conftest.py limits the number of such tests.
AGAIN := --reruns 1 --reruns-delay 1 -rfER --durations 10
TOGETHER = pytest $(APART_TESTS:%=--ignore=%) -n $$(( $$(nproc) + 2 ))
# The sources whose function names are checked. The C++ code of libxr, ros2 and yarp needs the user's installation.
NAMED := $(shell git ls-files '*.py' '*.rs' '*.hpp' '*.h' '*.cpp' '*.c' 2>/dev/null | grep -Ev '/abi\.h|(libxr|ros2|yarp)/cpp/')
PROSE := $(wildcard *.md docs/*.md docs/findings/*.md transports/*/README.md scenarios/*.toml) \
	$(wildcard transports/*/transport.toml) hopmeter/messages.toml hopmeter/model/columns.toml \
	$(wildcard hopmeter/report/studies/*.toml) hopmeter/manifest/matrix.py setup/site.py
SHELL_FILES := .ci/run $(shell find setup benches conformance tests -name '*.sh' 2>/dev/null)

bench: $(STAMPS)/use
	hopmeter build --needed-for $(SCENARIO) --system-packages
	hopmeter run $(SCENARIO)

all: $(STAMPS)/develop
	python -m hopmeter.build.system $(MESSAGE_PACKAGES)
	hopmeter build --system-packages

# The fast tests need the transports of two scenarios.
fast: $(STAMPS)/develop
	python -m hopmeter.build.system $(MESSAGE_PACKAGES)
	hopmeter build --needed-for quick --system-packages
	hopmeter build --needed-for tests/fast.toml --system-packages
	python -m conformance.fast

test: test-rust test-cpp test-python
	@echo 'These were the fast tests. `make test-rest` runs the others: all transports, several hosts, failures, packages, simulations.'

test-rest: all test-rust-rest test-python-rest test-torch

nightly: test-nightly test-codecs test-r2r

# One crate at a time, after the nodes, so that each crate uses the dependencies with which its node was built. In a single
# call, Cargo would enable the features of all crates in every dependency, and build about 50 dependencies again.
test-rust: fast
	for manifest in $(OWN_CRATES); do cargo test --release --manifest-path $$manifest; done

test-rust-rest: all
	for manifest in $(filter-out $(OWN_CRATES),$(CRATES)); do cargo test --release --manifest-path $$manifest; done

test-cpp: fast
	cmake -S . -B build/cpp -DCMAKE_BUILD_TYPE=Release -DHOPMETER_ADAPTERS=OFF -Wno-dev >build/cpp.log || { cat build/cpp.log; exit 1; }
	cmake --build build/cpp --parallel
	ctest --test-dir build/cpp --output-on-failure --no-tests=error

test-setup: $(STAMPS)/develop
	python -m hopmeter.build.system $(TEST_PACKAGES)
	setup/multicast.sh
	setup/sshd.sh

test-python: fast test-setup
	pytest -m "alone and not rest and not nightly" $$(grep -rlF mark.alone tests conformance --include='*.py') $(AGAIN) $(PYTEST)
	$(TOGETHER) -m "not alone and not rest and not nightly" $(AGAIN) $(PYTEST)

test-python-rest: all test-setup
	$(TOGETHER) -m "rest and not nightly" $(AGAIN) $(PYTEST)

test-nightly: all
	pytest -m nightly $(AGAIN) $(PYTEST)

# r2r takes minutes to build, so `all` leaves it out.
test-r2r: all
	hopmeter build ros2 --language rust --set distribution=kilted --system-packages
	pytest conformance -k "ros2 and rust and kilted" $(AGAIN) $(PYTEST)

test-torch: $(STAMPS)/torch
	if $(SYSTEM_PYTHON) -c 'import torch' 2>/dev/null; \
	then PYTHONPATH=$(CURDIR)/build/pytest $(SYSTEM_PYTHON) -m pytest -k torch $(TORCH_TESTS) $(AGAIN) $(PYTEST); \
	else echo "PyTorch is not tested: $(SYSTEM_PYTHON) has none"; fi

# The rest of tests/codecs runs in .venv with all other tests. The tests are distributed by file, because importing a
# framework takes long.
# Needs a machine with an NVIDIA GPU; on other machines, every test is skipped.
test-gpu: $(STAMPS)/frameworks
	$(FRAMEWORKS)/bin/python -m pytest tests/codecs/test_gpu.py -n 2 $(PYTEST)

test-codecs: $(STAMPS)/frameworks
	export JAX_PLATFORMS=cpu TF_CPP_MIN_LOG_LEVEL=3; \
	$(FRAMEWORKS)/bin/python -m pytest tests/codecs/test_{tensors,devices,cells}.py -n 2 $(AGAIN) $(PYTEST)
	export PYTHONPATH=$(CURDIR)/build/pytest; \
	$(APART)mxnet/bin/python -m pytest tests/codecs/test_{mxnet,devices,numpy,plain}.py $(AGAIN) $(PYTEST); \
	$(APART)pandas1/bin/python -m pytest tests/codecs/test_pandas.py $(AGAIN) $(PYTEST)

conformance: $(STAMPS)/develop
	pytest conformance $(if $(TRANSPORT),-k $(TRANSPORT)) $(PYTEST)

# All benches run even if one misses its limit. The last lines list those that did, and how long each took.
benches: all $(STAMPS)/frameworks
	python benches/every.py $(BENCHES)

aarch64: $(STAMPS)/develop
	python -m hopmeter.build.system --required --lean $(AARCH64_PACKAGES)
	setup/aarch64.sh $(STAGES)

lint: lint-rust lint-python lint-names lint-cpp lint-shell lint-docs

lint-rust: $(STAMPS)/develop
	cargo fmt --all --check
	rustfmt --check --edition 2021 $(TEMPLATE)
	cargo clippy --release --workspace --all-targets -- -D warnings

lint-python: $(STAMPS)/develop
	ruff format --check .
	ruff check .
	lint-imports
	mypy
	vermin --no-tips --target=$(NODE_PYTHON)- --violations $$(python setup/node_files.py)

# Finds functions that are named by a bare participle, words that docs/glossary.md has retired, and two types that are
# named after one word of the glossary.
lint-names: $(STAMPS)/develop
	python setup/names.py $(NAMED)
	python setup/glossary.py $(NAMED) $(PROSE)

lint-cpp lint-shell: $(STAMPS)/lint-packages

lint-cpp:
	$(if $(CPP),clang-format --dry-run -Werror $(CPP))

lint-shell:
	shellcheck $(SHELL_FILES)

# Finds spelling mistakes, words for which setup/words.py has a better one, broken links, and pages without a menu entry.
lint-docs: $(STAMPS)/develop
	codespell
	python setup/words.py $(PROSE)
	mkdocs build --site-dir build/docs-lint

docs: $(STAMPS)/develop
	mkdocs build
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps -p hopmeter-instrument
	cp -r $(or $(CARGO_TARGET_DIR),target)/doc build/docs/rust
	@echo 'docs: build/docs/index.html. The search needs a server: python -m http.server --directory build/docs'

# For Rust, this needs the toolchain component llvm-tools: rustup component add llvm-tools.
coverage: $(STAMPS)/develop
	setup/coverage.sh $(PARTS)

format: $(STAMPS)/develop $(STAMPS)/lint-packages
	cargo fmt --all
	rustfmt --edition 2021 $(TEMPLATE)
	ruff check --fix --quiet . || true
	ruff format .
	$(if $(CPP),clang-format -i $(CPP))

lock: $(STAMPS)/develop
	python -m hopmeter.build.lock $(if $(UPGRADE),--upgrade)

wheel: $(STAMPS)/develop
	hopmeter build --system-packages --language rust
	python -m hopmeter.build.stage
	maturin build --release --strip --out dist --interpreter $(PYO3_PYTHON)

# Two states of the environment: for using hopmeter, and for developing it.
$(STAMPS)/use: pyproject.toml $(LOCK) $(INSTRUMENT) setup/environment.sh
	[ -e $(STAMPS)/develop ] && setup/environment.sh dev,docs || setup/environment.sh
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/develop: pyproject.toml $(LOCK) $(INSTRUMENT) setup/environment.sh
	setup/environment.sh dev,docs
	mkdir -p $(STAMPS) && touch $@ $(STAMPS)/use

$(STAMPS)/torch: pyproject.toml | $(STAMPS)/develop
	uv pip install --quiet --constraint $(LOCK) --target build/pytest --upgrade pytest pytest-rerunfailures pytest-timeout
	python -m hopmeter.build.system --lean $(TORCH_PACKAGE)
	touch $@

$(STAMPS)/frameworks: pyproject.toml $(wildcard hopmeter/codecs/frameworks/*.py) $(STAMPS)/torch
	uv venv --quiet --clear --python $(PYO3_PYTHON) $(FRAMEWORKS)
	uv pip install --quiet --python $(FRAMEWORKS)/bin/python --constraint $(LOCK) -r pyproject.toml --extra dev $(HEAVY:%=--extra %)
	hopmeter build shm --language rust
	$(FRAMEWORKS)/bin/python -m hopmeter build zeromq --language python
	hopmeter build shm zeromq --framework mxnet,pandas1
	touch $@

$(STAMPS)/lint-packages: $(STAMPS)/develop
	python -m hopmeter.build.system --required $(LINT_PACKAGES)
	touch $@

clean:
	rm -rf build dist hopmeter/_data $(VENV) .pytest_cache .ruff_cache .mypy_cache .import_linter_cache
	rm -f hopmeter/_instrument*.so
	$(if $(HOPMETER_CACHE),,cargo clean)
