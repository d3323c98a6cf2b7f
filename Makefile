# The three commands of the project. Each installs what is missing first; nothing else is needed.
#
#   make demo               encrypt a real file with a kernel on the simulated card
#   make test               every test
#   make bench              every bar, written to bench/results.json
#   make bench ONLY=name    one bar (a prefix is enough)

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test test-rust test-rtl test-python lint bench setup clean

export TOMBOLO_CACHE ?= $(HOME)/.cache/tombolo
export PATH := $(HOME)/.cargo/bin:$(TOMBOLO_CACHE)/bin:$(PATH)
PYTHON := $(TOMBOLO_CACHE)/venv/bin/python

help:
	@sed -n '2,8s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

setup:
	@tools/setup

demo:
	@tools/setup --to-run
	@tools/progress --quiet "Compiling (cargo)" cargo build --release --bin tombolo
	@tools/demo

test: lint test-rtl test-rust test-python
	@tools/demo --small

lint: setup
	@tools/progress "Lint: Rust" tools/lint-rust
	@tools/progress "Lint: RTL" tools/lint-rtl
	@tools/progress "Lint: Python" $(PYTHON) -m mypy --config-file python/pyproject.toml \
	  python/package/tombolo python/examples python/tests

test-rtl: setup
	@tools/progress "Tests: RTL" $(PYTHON) -m pytest -q rtl kernels tools

test-rust: setup
	@tools/progress "Tests: Rust" cargo test --release --workspace --exclude tombolo-python

test-python: setup
	@tools/progress --quiet "Python package: wheel" tools/build-wheel
	@cd python/tests && PYTHONPATH=$(CURDIR)/target/python \
	  ../../tools/progress "Tests: Python" $(PYTHON) -m pytest -q -c ../pyproject.toml .

bench: setup
	@tools/progress --quiet "Compiling (cargo)" cargo build --release --bin tombolo-bench
	@cargo run --quiet --release --bin tombolo-bench -- $(if $(ONLY),--only $(ONLY))

clean:
	cargo clean
	rm -rf build
