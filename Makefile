# `make help` lists the targets. Each installs or builds its requirements.
GO       ?= go
TOOLS    := $(GO) tool -modfile=tools/go.mod
LINT     := $(GO) tool -modfile=tools/lint/go.mod golangci-lint
# The program without symbol table and debug information; empty for a debugger.
GO_LDFLAGS ?= -s -w

.PHONY: help build debian quick test test-unit test-blackbox test-plain test-tools slowest cross lint tidy generate generated notice vuln bench bench-peers hostile fuzz nightly $(addprefix nightly-,$(PARTS))

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the program into bin/
	$(GO) build -trimpath -ldflags '$(GO_LDFLAGS)' -o bin/assay ./cmd/assay

# program:package of the tools that tests run besides Go and npm.
DEBIAN := nc:netcat-openbsd curl:curl openssl:openssl chromium-headless-shell:chromium-headless-shell

debian: ## install the Debian packages that tests use (needs root); without them their tests are skipped, or fail if CI is set
	@missing=; for p in $(DEBIAN); do command -v $${p%%:*} >/dev/null || missing="$$missing $${p#*:}"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -q && apt-get install -y -q --no-install-recommends $$missing; \
	else \
		echo "NOT INSTALLED, their tests are skipped: apt-get install$$missing needs root" >&2; \
	fi

# Each test runs once in `make test`:
#   test-unit      with the race detector: all packages but those of BLACKBOX and PURE
#   test-blackbox  without, since it would only slow down what starts programs, gateways and Node: BLACKBOX
#   test-plain     without, for the same reason: PURE, which starts no goroutine of its own, and of the units the files with the
#                  build tag !race, which measure memory, open a browser, or compute much in one goroutine
# What takes longer, and all packages with the race detector, is nightly.
BLACKBOX := ./cmd/assay ./internal/command/selftest ./suites ./sdk
PURE     := ./docs ./internal/command/history/... ./internal/judge/... ./internal/base/secret ./internal/load/soak/trend ./internal/wire/... ./reports/... ./scenarios
UNIT      = $$( ($(GO) list $(EARLY) && $(GO) list ./...) | awk '!seen[$$0]++' | grep -vxF "$$($(GO) list $(BLACKBOX) $(PURE))")
# The units that take longest begin first, so that none of them runs alone at the end.
EARLY    := ./internal/load/fast ./internal/target ./internal/engine ./fakes/gateway ./internal/load/portable ./internal/load/fleet
TAGGED    = $(shell git grep -l '^//go:build !race' -- '*_test.go' ':!cmd' ':!reports')

# $(call gotest,NAME) runs `go test`, without vet, which the linters include. It prints a line for each package, what fails and
# what is skipped, and keeps the record for `make slowest`.
gotest = mkdir -p bin/tests && .ci/part $(1) $(TOOLS) gotestsum --format pkgname --jsonfile bin/tests/$(1).json -- -vet=off -timeout 20m

test: debian ## the tests: the units with the race detector; the program, the self-test, the SDKs and the browser without
	$(MAKE) -j 3 test-blackbox test-unit test-plain test-tools

# What the tests hold is little beside what they allocate, so the collector can run less often: that is a seventh of the CPU
# time of the self-test. By default the race detector sleeps for a second at the end of each process.
test-unit test-blackbox: export GOGC = 400
test-unit: export GORACE = atexit_sleep_ms=10

test-unit:
	$(call gotest,unit) -race -p 3 -parallel 4 $(UNIT)

# Most tests wait, so more of them run at a time than there are processors; the packages of BLACKBOX say so themselves. The longest
# of these begins first.
test-blackbox:
	$(call gotest,blackbox) -p 2 $(BLACKBOX)

test-plain: # some of the tagged tests measure memory, so they have the collector as users have it
	export GOGC=400; $(call gotest,plain) -p 2 $(PURE)
	$(call gotest,tagged) -p 2 -run "^($$(sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' $(TAGGED) | paste -sd '|'))$$" $(addprefix ./,$(sort $(dir $(TAGGED))))

test-tools:
	cd tools/notice && $(GO) test ./...
	cd tools/vuln && $(GO) test ./...

# Seconds of a test beside the others say how busy the machine is, so the limit is three minutes, half of what all may take on two quiet
# cores, or on a slower machine a third of what they took. The shorter the turn of the self-test, the more tests share the processors.
LONGEST = $$(awk '$$1 == "blackbox" {t = $$2 / 3} END {print int(t < 180 ? 180 : t)}' bin/parts)s
slowest: ## the ten slowest tests of the last `make test`; fail if one took over three minutes and .ci/long does not list it
	@cat bin/tests/*.json >bin/tests.json && echo "the slowest tests:" && $(TOOLS) gotestsum tool slowest --jsonfile bin/tests.json --threshold 1s --num 10
	@over=$$($(TOOLS) gotestsum tool slowest --jsonfile bin/tests.json --threshold $(LONGEST) | grep -vwF "$$(sed -n 's/^\(Test[^ ]*\) .*/\1/p' .ci/long)"); \
	if [ -n "$$over" ]; then printf 'over %s, and not in .ci/long:\n%s\n' $(LONGEST) "$$over" >&2; exit 1; fi

# What differs from this commit, without the tests that start programs and gateways.
QUICK_BASE ?= HEAD
# Most tests wait, so more of them run at a time than there are processors.
quick: ## while editing: build, vet, and the unit tests of the changed packages, without the race detector
	$(GO) build ./... && $(GO) vet ./...
	@changed=$$( (git diff --name-only $(QUICK_BASE) -- '*.go'; git ls-files --others --exclude-standard -- '*.go') | xargs -rn1 dirname | sort -u | \
		while read -r dir; do if [ -d "$$dir" ]; then $(GO) list "./$$dir"; fi; done | grep -vxF "$$($(GO) list $(BLACKBOX))"); \
	if [ -z "$$changed" ]; then echo "no package differs from $(QUICK_BASE)"; else $(GO) test -short -parallel 8 $$changed; fi

# The systems of the releases, besides this one.
SYSTEMS := darwin/arm64 windows/amd64
cross: ## vet the code, which also compiles it, for the other systems of the releases
	@set -e; for s in $(SYSTEMS); do echo "vet for $$s"; CGO_ENABLED=0 GOOS=$${s%/*} GOARCH=$${s#*/} $(GO) vet ./...; done

lint: ## linters, floors, formatting
	$(LINT) run --allow-parallel-runners ./...
	cd tools/notice && $(GO) tool -modfile=../lint/go.mod golangci-lint run --allow-parallel-runners ./...
	cd tools/vuln && $(GO) tool -modfile=../lint/go.mod golangci-lint run --allow-parallel-runners ./...

tidy: ## fail if go.mod or go.sum is not tidy
	$(GO) mod tidy -diff
	cd tools && $(GO) mod tidy -diff
	cd tools/lint && $(GO) mod tidy -diff
	cd tools/notice && $(GO) mod tidy -diff
	cd tools/vuln && $(GO) mod tidy -diff

generate: ## generate the code of the protos
	$(TOOLS) buf lint
	$(TOOLS) buf generate

notice: ## write NOTICE, the licences of what is linked into the program
	cd tools/notice && $(GO) run .

generated: generate ## fail if the generated code or NOTICE differs from what is committed, or a licence is not allowed
	git diff --exit-code -- internal/envd
	@test -z "$$(git ls-files --others --exclude-standard internal/envd)" || \
		{ echo "generated files are not committed:"; git ls-files --others --exclude-standard internal/envd; exit 1; }
	cd tools/notice && $(GO) run . -check

vuln: ## fail if the program reaches a known vulnerability; without the database of vulnerabilities, say so
	cd tools/vuln && $(GO) run .

bench: ## benchmarks, with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./...

BENCH_STREAMS ?= 200000
BENCH_RUNS    ?= 5
BENCH_BASE    ?=
BENCH_ONLY    ?= short,together,memory,most,even,pace,stop,ws,tls
bench-peers: build ## compare the load driver with wrk, h2load, k6 and others: docs/performance.md
	$(GO) run ./bench/peers -streams $(BENCH_STREAMS) -runs $(BENCH_RUNS) -only $(BENCH_ONLY) $(if $(BENCH_BASE),-base $(BENCH_BASE))

HOSTILE_MODES    ?= *
HOSTILE_COMMANDS ?= conform,load,doctor,replay
hostile: build ## run the program against every hostile server; print exit code, time and memory of each run
	$(GO) run ./bench/hostile -modes '$(HOSTILE_MODES)' -commands '$(HOSTILE_COMMANDS)'

# The fuzz targets of one day of the week; FUZZ_DAY=all runs every target.
DAY      := $(shell echo $$(( $$(date +%s) / 86400 % 7 + 1 )))
FUZZTIME ?= 2m
FUZZ_DAY ?= $(DAY)
# By default an input may be minimized for a minute, in which nothing else is tried.
# go test can fail when FUZZTIME ends, without a failing input: https://go.dev/issue/75804.
fuzz: ## a seventh of the fuzz targets, by the day, for FUZZTIME each; list the targets that failed
	@set -e; log=$$(mktemp); trap 'rm -f $$log' EXIT; failed=; n=0; \
	for target in $$(git grep -h -o --no-line-number -E '^func Fuzz\w+' -- '*_test.go' | sed 's/func //' | sort -u); do \
		n=$$(( n % 7 + 1 )); [ "$(FUZZ_DAY)" = all ] || [ $$n = $(FUZZ_DAY) ] || continue; \
		for file in $$(git grep -l -E "^func $$target\(" -- '*_test.go'); do \
			pkg=./$${file%/*}; echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$pkg | tee $$log; \
			grep -q '^ok' $$log || { grep -qx ' *context deadline exceeded' $$log && ! grep -q 'Failing input' $$log; } || \
				failed="$$failed $$pkg.$$target"; \
		done; \
	done; \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed" >&2; exit 1; fi

# The parts of `make nightly`: each ends within an hour on two cores. What takes longer is a seventh by the day.
PARTS := race selftest busy starved mix scenarios hostile-conform hostile-load hostile-others fuzz bench cross vuln
nightly: ## the long tests, or one part of them: make nightly PART=hostile-load
	@rm -f bin/parts; for part in $(or $(PART),$(PARTS)); do \
		case " $(PARTS) " in *" $$part "*) ;; *) echo "PART=$$part: want one of $(PARTS)" >&2; exit 2;; esac; \
	done; failed=; \
	for part in $(or $(PART),$(PARTS)); do .ci/part $$part $(MAKE) nightly-$$part || failed="$$failed $$part"; done; \
	.ci/part; if [ -n "$$failed" ]; then echo "FAILED:$$failed" >&2; exit 1; fi

BUSY    := ^TestNothingRightIsBlamedUnderLoad$$
STARVED := ^TestAStarvedRunBlamesOnlyWhatIsWrong$$
MIX     := ^TestNothingRightIsBlamedInAMix$$
nightly-race: debian # what `make test` runs without the race detector
	ASSAY_NIGHTLY=1 $(GO) test -race -short -timeout 55m -p 2 -skip '$(BUSY)|$(STARVED)|$(MIX)' $(BLACKBOX) $(PURE)
nightly-selftest: build # a seventh of the faults and variants, with every scenario on all axes
	bin/assay selftest --full --shard $(DAY)/7
nightly-busy: # nothing right is blamed on a busy machine
	ASSAY_NIGHTLY=1 $(GO) test -count 1 -v -timeout 55m -run '$(BUSY)' ./internal/command/selftest
nightly-starved: # nor on one that is far too busy, where what is wrong is still found
	ASSAY_NIGHTLY=1 $(GO) test -count 1 -v -timeout 55m -parallel 5 -run '$(STARVED)' ./internal/command/selftest
nightly-mix: build debian # nor among builds, loads, browsers and a disk that is written
	ASSAY_NIGHTLY=1 $(GO) test -count 1 -v -timeout 55m -run '$(MIX)' ./internal/command/selftest
nightly-scenarios: build # slow and destructive scenarios, and the tests of the units that take long
	bin/assay conform --slow --destructive --strict
	ASSAY_NIGHTLY=1 $(GO) test -count 1 -timeout 50m -parallel 8 $(UNIT)
nightly-hostile-conform:
	$(MAKE) hostile HOSTILE_COMMANDS=conform
nightly-hostile-load:
	$(MAKE) hostile HOSTILE_COMMANDS=load
nightly-hostile-others:
	$(MAKE) hostile HOSTILE_COMMANDS=doctor,replay
nightly-fuzz: fuzz
nightly-bench: bench
nightly-cross: cross
nightly-vuln: vuln
