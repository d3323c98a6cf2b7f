# The commands of the project. Each installs what is missing first; nothing else is needed.
#
#   make demo               encrypt a real file with a kernel on the simulated card
#   make test               every test; prints the time by part, and what was skipped
#   make test-deep          what takes longer than its worth in everyday work: all proofs, long runs
#   make bench              every bar, written to bench/results.json
#   make bench ONLY=name    one bar (a prefix is enough)
#   make bench STALE=1      the rows that are older than what they measure
#   make bench TRIAL=1      measures changes that are in no commit, and writes nothing
#   make bench STRICT=1     fails when a bar is missed or could not be measured
#   make docs               the site, in build/site/index.html; every link checked

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: docs help demo test test-deep test-rust test-rtl test-python lint bench setup clean

export TOMBOLO_CACHE ?= $(HOME)/.cache/tombolo
export PATH := $(HOME)/.cargo/bin:$(TOMBOLO_CACHE)/bin:$(PATH)
PYTHON := $(TOMBOLO_CACHE)/venv/bin/python

help:
	@sed -n '2,13s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

setup:
	@tools/setup

demo:
	@tools/setup --to-compile
	@tools/progress --quiet "Compiling (cargo, then the models)" tools/compile-demo
	@tools/demo

test: setup
	@tools/test

test-deep: setup
	@tools/test --deep

test-rust: setup
	@tools/test Rust

test-rtl: setup
	@tools/test RTL

test-python: setup
	@tools/test Python

lint: setup
	@tools/test "Rust lint" "RTL lint" "Python lint"

bench: setup
	@tools/progress --quiet "Compiling (cargo)" cargo build --release --bin tombolo-bench
	@cargo run --quiet --release --bin tombolo-bench -- $(if $(ONLY),--only $(ONLY)) $(if $(STRICT),--strict) \
		$(if $(STALE),--stale) $(if $(TRIAL),--trial)

docs:
	@tools/docs

clean:
	cargo clean
	rm -rf build
