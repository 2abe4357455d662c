# The verbs of the house. Each sets up what it needs; `make` alone says what there is.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.PHONY: help run test test-deps check web bench bench-compare bench-peers bench-million bench-model bench-chat bench-ui bench-docs model-truth picture toolchain

TARGET := $(or $(CARGO_TARGET_DIR),target)
# Where cargo is when a fresh shell does not know it yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

help:
	@echo "make run      build Throng and run examples/football-quick.yaml, about a minute"
	@echo "make test     formatting, lints and documentation, then every test"
	@echo "make test-deps  install the databases that some tests need; without them these are skipped"
	@echo "make check    formatting, lints and documentation alone"
	@echo "make web      build the page that reports are drawn by, web/dist"
	@echo "make bench    speed and memory beside wrk, measured on this machine"
	@echo "make bench-compare  how fast ten samples of a million numbers are compared, on one core"
	@echo "make bench-peers    installs its peers and measures each in turn, under an hour"
	@echo "make bench-million  holds up to 2,000,000 users, about ten minutes; APPLY=1 lets it"
	@echo "                    change settings of this machine, FANS=1 plays the whole final"
	@echo "make bench-model  how fast 1 GB of log and a trace of two months are modelled, a few minutes"
	@echo "make bench-chat   what the chat's transports cost and what its server takes, 25 minutes"
	@echo "make bench-ui     what a live page with viewers costs a run, five minutes"
	@echo "make bench-docs     writes docs/benchmarks.md, and tables of docs/chat.md, from the newest of"
	@echo "                    what was measured"
	@echo "make model-truth  how good a model's estimators are, on samples whose truth is known: the tables"
	@echo "                    of docs/modelling.md anew, a quarter of an hour of CPU"
	@echo "make picture  draw the README's pictures of terminal and report anew, from a real run"

run: toolchain web
	@cargo build --release --locked --package throng
	$(TARGET)/release/throng run examples/football-quick.yaml

check: toolchain
	@scripts/web.sh check
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

test: check
	@scripts/test.sh

test-deps:
	@scripts/services --install

bench: toolchain web
	@bench/run $(if $(APPLY),--apply)

bench-compare: toolchain
	@cargo run --release --locked --package stats --example compare_speed

bench-peers: toolchain web
	@bench/peers

bench-million: toolchain web
	@bench/million $(if $(APPLY),--apply) $(if $(FANS),--fans)

bench-model: toolchain web
	@bench/model

bench-chat: toolchain web
	@bench/chat $(if $(APPLY),--apply)

bench-ui: toolchain web
	@bench/ui

bench-docs:
	@bench/docs

model-truth: toolchain
	@scripts/model-truth.py

picture: toolchain web
	@cargo build --release --locked --package throng
	scripts/terminal-picture.py --at 42 --live docs/images/live.svg --end docs/images/verdict.svg \
		-- $(TARGET)/release/throng run examples/football-quick.yaml
	node web/picture.mjs "$$(ls -d runs/*-football-quick-* | tail -n 1)/report.html" docs/images/report.png

web:
	@scripts/web.sh

toolchain:
	@scripts/toolchain.sh
