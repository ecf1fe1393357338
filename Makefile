# `make help` lists the targets. Each installs or builds its requirements.
GO       ?= go
TOOLS    := $(GO) tool -modfile=tools/go.mod
LINT     := $(GO) tool -modfile=tools/lint/go.mod golangci-lint
FUZZTIME ?= 60s
# The program without symbol table and debug information; empty for a debugger.
GO_LDFLAGS ?= -s -w

.PHONY: help build debian cross test test-go test-sdk race lint tidy generate generated notice vuln bench bench-peers hostile nightly fuzz selftest

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

test: debian cross ## unit tests, black-box tests through the binary, the catalogue, the self-test
	$(GO) vet ./...
	$(MAKE) -j 2 test-go test-sdk

# The systems of the releases, besides this one.
SYSTEMS := darwin/arm64 windows/amd64
cross: ## vet the code, which also compiles it, for the other systems of the releases
	@set -e; for s in $(SYSTEMS); do echo "vet for $$s"; CGO_ENABLED=0 GOOS=$${s%/*} GOARCH=$${s#*/} $(GO) vet ./...; done

# The longest packages begin first, two at a time. The others run three at a time.
LONG := ./internal/selftest ./cmd/assay ./suites ./fakes/gateway
test-go:
	failed=; $(GO) test -timeout 20m $(LONG) || failed=1; \
	$(GO) test -p 3 -timeout 20m $$($(GO) list ./... | grep -vxF "$$($(GO) list ./sdk $(LONG))") || failed=1; test -z "$$failed"
	cd tools/notice && $(GO) test ./...
	cd tools/vuln && $(GO) test ./...

# -v, so that a test that is skipped is seen.
test-sdk:
	$(GO) test -v ./sdk

race: debian ## the unit tests and a smoke of the catalogue under the race detector
	$(GO) test -race -short -timeout 40m ./...

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

selftest: build ## the kill matrix, with every scenario against every fault
	bin/assay selftest --full

HOSTILE_MODES ?= *
hostile: build ## run the program against every hostile server; print exit code, time and memory of each run
	$(GO) run ./bench/hostile -modes '$(HOSTILE_MODES)'

# By default an input may be minimized for a minute, in which nothing else is tried.
# go test can fail when FUZZTIME ends, without a failing input: https://go.dev/issue/75804.
fuzz: ## every fuzz target for FUZZTIME; list the targets that failed
	@set -e; packages=$$($(GO) list ./...); failed=; log=$$(mktemp); trap 'rm -f $$log' EXIT; \
	for pkg in $$packages; do \
		list=$$($(GO) test -list '^Fuzz' $$pkg); \
		for target in $$(echo "$$list" | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$pkg | tee $$log; \
			grep -q '^ok' $$log || { grep -qx ' *context deadline exceeded' $$log && ! grep -q 'Failing input' $$log; } || \
				failed="$$failed $$pkg.$$target"; \
		done; \
	done; \
	if [ -n "$$failed" ]; then echo "FAILED:$$failed" >&2; exit 1; fi

nightly: ## the long tests: everything under -race, fuzzing, verdicts under load, slow and destructive scenarios, vulnerabilities
	$(GO) test -race -timeout 3h ./...
	$(MAKE) fuzz
	$(MAKE) selftest
	ASSAY_NIGHTLY=1 $(GO) test -count 1 -timeout 30m -run '^TestNoCommandTakesTheGatewayAway$$' ./fakes/gateway
	ASSAY_NIGHTLY=1 $(GO) test -count 1 -v -timeout 4h -run '^TestNothingRightIsBlamedUnderLoad$$' ./internal/selftest
	bin/assay conform --slow --destructive --strict
	$(MAKE) bench
	$(MAKE) hostile
	$(MAKE) vuln
