# The three commands of the project. Each installs what is missing first; nothing else is needed.
#
#   make demo               encrypt a real file with a kernel on the simulated card
#   make test               every test
#   make bench              every bar, written to bench/results.json
#   make bench ONLY=name    one bar (a prefix is enough)

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test test-rust test-rtl lint bench setup clean

export TOMBOLO_CACHE ?= $(HOME)/.cache/tombolo
export PATH := $(HOME)/.cargo/bin:$(TOMBOLO_CACHE)/bin:$(PATH)
PYTHON := $(TOMBOLO_CACHE)/venv/bin/python

help:
	@sed -n '2,8s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

setup:
	@tools/setup

demo: setup
	@cargo build --quiet --release --bin tombolo
	@tools/demo

test: lint test-rtl test-rust
	@tools/demo --small

lint: setup
	cargo fmt --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	tools/lint-rtl

test-rtl: setup
	$(PYTHON) -m pytest -q rtl kernels tools

test-rust: setup
	cargo test --quiet --release --workspace

bench: setup
	@cargo run --quiet --release --bin tombolo-bench -- $(if $(ONLY),--only $(ONLY))

clean:
	cargo clean
	rm -rf build
