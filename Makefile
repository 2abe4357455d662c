# The commands of the project. Each installs what it needs; `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.PHONY: help run test test-deps check doc fuzz web bench bench-micro bench-compare bench-peers bench-million bench-model bench-chat bench-ui bench-incident bench-market bench-queue bench-balancer bench-duet bench-lab bench-fleet bench-docs site model-truth truth hostile-truth accounts-truth kill blame-truth capacity-truth percentile-truth incident-truth duet-truth kubernetes interop picture dist dist-dry-run toolchain

TARGET := $(or $(CARGO_TARGET_DIR),target)
# rustup installs cargo there; a fresh shell may not know it yet.
export PATH := $(PATH):$(HOME)/.cargo/bin
# The documentation of examples and programs is named so that cargo chooses features of dependencies as for the lints;
# it then compiles nothing again.
RUSTDOC := RUSTDOCFLAGS="-D warnings" cargo doc --workspace --lib --bins --examples --no-deps --locked --quiet

help:
	@echo "make run        build Throng and run examples/football-quick.yaml for half a minute"
	@echo "make test       all checks, then every test; prints the ten slowest. Installs what it needs on Debian as root,"
	@echo "                otherwise prompts, or skips and counts"
	@echo "make test-deps  install the databases that some tests need; without them these are skipped"
	@echo "make check      formatting, lints, documentation, dependencies, Throng without its features, proto without an"
	@echo "                operating system, and what calls the C library with musl"
	@echo "make doc        the documentation of the code, whose links must lead somewhere"
	@echo "make fuzz       fuzz every target for SECONDS (60), and count executions: by coverage with nightly Rust and"
	@echo "                cargo-fuzz, else by random changes of the kept corpus, JOBS (2) targets at a time;"
	@echo "                COUNT=1 adds them to fuzz/executions.csv"
	@echo "make web        build the page of reports, web/dist"
	@echo "make bench      speed and memory compared with wrk, on this machine"
	@echo "make bench-micro    codecs, pages, timer wheel, recorder, histogram and scripts alone, a few minutes"
	@echo "make bench-compare  how fast ten samples of a million numbers are compared, on one core"
	@echo "make bench-peers    installs other load generators and measures each, under an hour"
	@echo "make bench-million  holds up to 2,000,000 users, about ten minutes; APPLY=1 lets it change"
	@echo "                    settings of this machine, FANS=1 plays the complete final"
	@echo "make bench-model    how fast 1 GB of log and a trace of two months are modelled, a few minutes"
	@echo "make bench-chat     the cost of the chat's transports and the capacity of its server, 25 minutes"
	@echo "make bench-market   the market on MariaDB, PostgreSQL and Redis, an hour and a half"
	@echo "make bench-queue    the queue beside an echo server and pgbench, ten minutes"
	@echo "make bench-duet     how often planted differences are found beside a neighbour, by duets and by runs in turn, hours"
	@echo "make bench-balancer  the balancer beside nginx and HAProxy, and what is lost when a backend fails, half an hour"
	@echo "make bench-lab      the lab's network: round trips, packets, TCP and losses, half an hour; needs root"
	@echo "make bench-fleet    a hundred agents that begin together, the cost of the way over NATS, and of a thousand agents, 20 min"
	@echo "make bench-incident what k6, Gatling and Locust print of an incident of ten seconds, installed first, ten minutes"
	@echo "make bench-ui       what a live page with viewers costs a run, five minutes"
	@echo "make bench-docs     write docs/benchmarks.md, and measured parts of other pages, from the newest raw data"
	@echo "make site           build the documentation as a site with search"
	@echo "make model-truth    accuracy of a model's estimators on samples with known parameters: the tables"
	@echo "                    of docs/modelling-reference.md, a quarter of an hour of CPU"
	@echo "make truth      what is said of runs in which a load tool is easily wrong, against what is known of"
	@echo "                their targets: overload, planted troubles, an incident in twenty seeds, a quarter of an hour"
	@echo "make hostile-truth  targets, kills and files that once hurt a run or its record, four minutes"
	@echo "make accounts-truth  the sums of what was due, began and ended, the fate of each session and percentiles against"
	@echo "                    exact oracles, in CASES random runs (100000) in virtual time, ten minutes once built"
	@echo "make kill       kills a run at each thing that it does to its files, five minutes"
	@echo "make blame-truth    whom findings blame in each situation, with real sockets, REPEAT times (1), six minutes a time; needs root"
	@echo "make capacity-truth searches for capacities that are known, of queues and of targets that deceive, two hours and a half"
	@echo "make percentile-truth  how often intervals of percentiles hold the truth: the table of docs/judging-reference.md,"
	@echo "                    two minutes of CPU"
	@echo "make incident-truth how often healthy runs have incidents, and how often planted ones are found: the table of"
	@echo "                    docs/judging-reference.md, half a minute of CPU"
	@echo "make duet-truth how often looks after every pair are wrong, and how many pairs they take: the tables of"
	@echo "                    docs/comparing.md and docs/ui.md, some minutes of CPU"
	@echo "make dist       what a release consists of, into dist/: static binaries, packages, image; an hour of CPU."
	@echo "                    REBUILD=1 builds the binaries twice and compares them"
	@echo "make dist-dry-run   the release checklist from end to end without publishing, and its log; two hours of CPU"
	@echo "make kubernetes     the Helm chart in a real control plane with small nodes; needs root and Go, builds Kubernetes:"
	@echo "                    a quarter of an hour of CPU the first time"
	@echo "make interop    HTTP, gRPC and WebSocket against servers of others, and the tables of docs/interop.md; needs Go and"
	@echo "                    Node, 15 minutes"
	@echo "make picture        draw the pictures of README and docs/report.md, of terminal and report, from real runs"

# Benches use the release profile.
run: toolchain
	@scripts/quick.sh
	$(TARGET)/quick/throng run examples/football-quick.yaml --set hold=5s

check: toolchain
	@scripts/web.sh check
	@scripts/python.sh
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(RUSTDOC)
	@scripts/features.sh
	@scripts/bare.sh
	@scripts/musl.sh
	@scripts/deny.sh

doc: toolchain
	@scripts/web.sh
	$(RUSTDOC)

test: toolchain
	@scripts/test.sh

test-deps:
	@scripts/services --install

kubernetes: toolchain web
	@cargo build --locked --package throng
	@scripts/kubernetes --throng $(TARGET)/debug/throng

interop: toolchain web
	@checks/interop/run.py --write

bench: toolchain web
	@bench/run $(if $(APPLY),--apply)

bench-micro: toolchain
	@cargo bench --locked --package proto --package html --package stats --package engine --package script --benches

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

bench-incident: toolchain web
	@bench/incident

bench-market: toolchain web
	@bench/market

bench-queue: toolchain web
	@bench/queue

bench-duet: toolchain web
	@bench/duet --repeat $(or $(REPEAT),20)

bench-balancer: toolchain web
	@bench/balancer

bench-lab: toolchain
	@bench/lab

bench-fleet: toolchain web
	@bench/fleet

dist: toolchain
	@REBUILD=$(REBUILD) scripts/dist.sh

dist-dry-run: toolchain
	@scripts/dist/dry-run.sh

bench-docs:
	@bench/docs

site: toolchain
	@scripts/site.sh

model-truth: toolchain
	@scripts/model-truth.py

truth: toolchain web
	@checks/truth/cases.py

hostile-truth: toolchain web
	@checks/truth/hostile.py

accounts-truth: toolchain
	@export THRONG_CASES=$(or $(CASES),100000)
	cargo test --release --locked --package engine --test it -- accounts:: --nocapture
	cargo test --release --locked --package controller --lib -- sums:: fates:: --nocapture

kill: toolchain web
	@KILL_EVERY=1 cargo test --locked --package throng --test it -- kill:: --nocapture

blame-truth: toolchain web
	@checks/truth/blame.py --repeat $(or $(REPEAT),1)

percentile-truth: toolchain
	@scripts/percentile-truth.py

incident-truth: toolchain
	@scripts/incident-truth.py

duet-truth: toolchain
	@scripts/duet-truth.py

capacity-truth: toolchain web
	@checks/truth/theory.py
	@checks/truth/sustained.py

picture: toolchain web
	@cargo build --release --locked --package throng
	python3 examples/incident.py & shop=$$!
	trap "kill $$shop" EXIT
	sleep 1
	scripts/terminal-picture.py --status 1 docs/images/verdict.svg -- $(TARGET)/release/throng run examples/incident.yaml
	node web/picture.mjs "$$(ls -d runs/*-incident-* | tail -n 1)/report.html" docs/images/report.png

fuzz:
	@scripts/fuzz.sh $(or $(SECONDS),60) --jobs $(or $(JOBS),2) $(if $(COUNT),--count)

web:
	@scripts/web.sh

toolchain:
	@scripts/toolchain.sh
