# Every target is described by the comment behind its name; `make` prints them.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

GO ?= go
BIN := bin
# How long the tests of one package may take.
TIMEOUT ?= 10m
TOOLS := $(CURDIR)/.tools
STATICCHECK_VERSION := v0.8.2
GOFUMPT_VERSION := v0.12.0
# What only maintainers run is in modules of its own: what is measured, and what
# meets real peers. Their programs are built into bin and work in this folder.
BENCH := internal/bench
MODULES := . $(BENCH) interop
# The test files of a package, for go list.
TESTS := {{range .TestGoFiles}}{{$$.Dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$.Dir}}/{{.}} {{end}}
# Packages in which nothing is concurrent and much is read, which the race
# detector makes ten times as slow. All others are tested with it.
PLAIN := ./internal/archtest ./internal/vcr
RACE := ./harness/... ./cassettes/... ./mockllm/... ./mockmcp/... ./scenarios/... ./reports/... \
  $$(go list ./internal/... | grep -vE '/internal/(archtest|vcr)$$')

# Thousands of trials or texts, one like the other, which the race detector makes
# five times as slow or more; it sees their code in every other test of the package.
MATRICES := ^(TestMatrix|TestMatrixGoesRed|TestEveryFault|TestProviders|TestMCPFaults|TestFaultsInOtherDialects|TestFaultsAreDifferent|TestFixed|TestLinear)$$
MATRICES_IN := ./harness/run ./harness/agent ./mockllm ./internal/redact

.PHONY: help
help: ## Print this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: all
all: test lint ## Test and lint

.PHONY: demo
demo: $(BIN)/rehearse ## Play the shipped suites and recorded traffic, compare made-up models, offline, and name a gallery of HTML reports
	@./scenarios/demo/demo.sh runs/demo $(BIN)/rehearse

.PHONY: cassettes
cassettes: $(BIN)/interop/argo ## Record traffic through real argo-proxy releases anew (needs Python, PyPI); with ARGO_BASE_URL through that, which can cost money (ARGO='-releases 3.3.3')
	@$(BIN)/interop/argo $(ARGO)

# The parts are one after the other, unless make -j is told otherwise.
# Tests of the other modules read files of this one, of which the cache of tests
# knows nothing.
TESTS_OF := test-race test-matrices test-plain test-bench test-interop
.PHONY: test $(TESTS_OF)
test: $(TESTS_OF) ## Run everything that needs Go alone, with the race detector where it matters
test-race:
	$(GO) test -race -timeout $(TIMEOUT) -skip '$(MATRICES)' $(RACE)
test-matrices:
	$(GO) test -timeout $(TIMEOUT) -run '$(MATRICES)' $(MATRICES_IN)
test-plain:
	$(GO) test -timeout $(TIMEOUT) $(PLAIN) ./cmd/...
test-bench:
	$(GO) -C $(BENCH) test -count=1 -timeout $(TIMEOUT) ./...
test-interop:
	$(GO) -C interop test -count=1 -timeout $(TIMEOUT) ./...

.PHONY: lint
lint: $(TOOLS)/staticcheck $(TOOLS)/gofumpt ## Run go mod tidy, go vet, staticcheck and gofumpt, for each module
	@for m in $(MODULES); do ( set -x; cd $$m; $(GO) mod tidy -diff; $(GO) vet ./...; \
	  $(GO) vet -tags real_llm,interop ./...; $(TOOLS)/staticcheck ./... ); done
	@out=$$($(TOOLS)/gofumpt -l .); if [ -n "$$out" ]; then echo "not gofumpt-ed:"; echo "$$out"; exit 1; fi

.PHONY: generate
generate: ## Rewrite the generated pages and the goldens
	@for m in $(MODULES); do ( set -x; cd $$m; $(GO) test $$($(GO) list -f '$(TESTS)' ./... | xargs grep -l 'flag.Bool("update"' | xargs dirname | sort -u) -update ); done

.PHONY: checkgenerate
checkgenerate: generate ## Fail when a generated file was stale
	git diff --exit-code

.PHONY: offline
offline: $(BIN)/rehearse ## Run the Go tests and the suites with no network but loopback (needs root)
	./interop/offline.sh

.PHONY: soak
soak: $(BIN)/rehearse ## Run test and offline beside four CPU burners, and with SIGHUP ignored (ROUNDS=10, BURNERS=4; PACKAGES=./... for these alone)
	./interop/soak.sh $(PACKAGES)

.PHONY: interop
interop: $(BIN)/rehearse ## Meet real peers: npm servers, official SDK clients, real models, Slurm (needs Node, Python, Chromium)
	./interop/run.sh

.PHONY: agents
agents: $(BIN)/rehearse $(BIN)/interop/agents ## Play suites and faults to agents that others wrote, and write docs/agent-table.md; needs what interop installs (AGENTS='-only codex')
	@./interop/agents/install.sh
	@$(BIN)/interop/agents $(AGENTS)

.PHONY: packages
packages: $(BIN)/rehearse ## Build a wheel and an npm package with the program in them, in dist (needs Python, PyPI, npm)
	@./packages/build.sh $(BIN)/rehearse dist

.PHONY: cases
cases: $(BIN)/rehearse $(BIN)/interop/cases ## Play the inputs in REHEARSE_CASES; what fails must be excused in interop/cases/excused.txt (CASES='39* clients')
	@PATH="$(CURDIR)/interop/.venv/bin:$$PATH" $(BIN)/interop/cases $(CASES)

.PHONY: walks
walks: ## Print the files that one request passes, from the coverage of one run
	@$(GO) -C $(BENCH) build -cover -covermode=atomic -coverpkg=github.com/rehearse-dev/rehearse/... -o $(CURDIR)/$(BIN)/walk ./walk
	@GOCOVERDIR=$$(mktemp -d) $(BIN)/walk

.PHONY: lines
lines: ## Print the lines of each package, now and before it was put in order (docs/lines.md); needs the whole history
	@./internal/archtest/lines.sh

.PHONY: bench
bench: $(BIN)/rehearse ## Print what mocks, cassettes, the agent loop and reports of large runs cost, as ratios (REQUESTS=100000, PACED=2, TRIALS=10000, RECORDS=100000)
	@mkdir -p $(BIN)/bench
	$(GO) -C $(BENCH) build -o $(CURDIR)/$(BIN)/bench/ ./...
	$(BIN)/bench/mockllm -rehearse $(BIN)/rehearse -requests $${REQUESTS:-100000} -paced $${PACED:-2}
	$(BIN)/bench/mockmcp
	$(BIN)/bench/cassettes
	$(BIN)/bench/bench
	$(BIN)/bench/packages -rehearse $(BIN)/rehearse
	$(BIN)/bench/report -rehearse $(BIN)/rehearse -trials $${TRIALS:-10000} -records $${RECORDS:-100000}

.PHONY: bench-against
bench-against: ## Compare processor time and memory of what bench measures with another commit, in turns (BASE=33dd2db, PAIRS=5, ONLY=cassettes)
	@mkdir -p $(BIN)/bench
	$(GO) -C $(BENCH) build -o $(CURDIR)/$(BIN)/bench/ ./against
	$(BIN)/bench/against -base "$(BASE)" -pairs $${PAIRS:-5} -only "$${ONLY:-}"

.PHONY: bench-peers
bench-peers: packages ## Install what bench compares rehearse and its mocks with: aimock, promptfoo, inspect_ai, and what plays tests with our packages (needs Node and Python)
	cd $(BENCH)/peers && npm ci --no-audit --no-fund --loglevel=error
	cd $(BENCH)/peers && python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt
	cd $(BENCH)/peers/packages && npm install --no-save --no-audit --no-fund --loglevel=error $(CURDIR)/dist/rehearse-*.tgz
	cd $(BENCH)/peers/packages && python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt && .venv/bin/pip install -q --no-deps --force-reinstall $(CURDIR)/dist/rehearse-*.whl

.PHONY: kills
kills: ## Kill recorders at seeded moments and look at what is left (KILLS=400, SEED=12)
	@REHEARSE_KILLS=$${KILLS:-400} REHEARSE_SEED=$${SEED:-12} $(GO) test -count=1 -timeout 10m -run '^TestKills$$' -v ./cmd/rehearse | grep -v -e '^=== ' -e '--- PASS'

.PHONY: simulate
simulate: $(BIN)/bench/simulate ## Play suites whose truth is known, and fail when intervals or tests of internal/stats are out of bounds (SEED=1, SUITES=4000); about a minute
	@nice $(BIN)/bench/simulate -seed $${SEED:-1} -suites $${SUITES:-4000}

# An hour or more: each mutant is tested by its package and by those that import it.
.PHONY: mutants
mutants: $(BIN)/bench/mutants ## Change one thing of the product at a time and print what no test notices (SEED=1, N=300, ONLY=match,redact with EACH=25 of each; OWN=1 with no tests of importers; AT=FILE or FILE:LINE)
	@nice $(BIN)/bench/mutants $${OWN:+-own} -seed $${SEED:-1} -n $${N:-300} -each $${EACH:-25} -only "$${ONLY:-}" -at "$${AT:-}"

# Ten minutes or more: each mutant builds its package and those that import it.
.PHONY: documents
documents: $(BIN)/bench/documents ## Run the tests that docs/documents.yaml names, break a line for each row, and print the test that fails (ONLY=text of a feature)
	@nice $(BIN)/bench/documents -only "$${ONLY:-}"

.PHONY: fuzz
fuzz: ## Fuzz every decoder for a few seconds each (FUZZTIME=10s)
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-10s} -fuzzminimizetime 10x $$p; \
	  done; done

# The request decoders of the mock model, the script loader, the writer and the
# reader of streams, and the frames of MCP.
FUZZ_LONG := $(addprefix ./internal/dialect/dialects:,FuzzDecodeChat FuzzDecodeResponses FuzzDecodeMessages FuzzDecodeGenerate FuzzDecodeOlder) \
  ./mockllm:FuzzOldRequest ./scenarios:FuzzLoad ./mockllm:FuzzStream ./internal/sse:FuzzPair \
  ./internal/mcpwire:FuzzReader ./mockmcp:FuzzServeStdio ./mockmcp:FuzzHandler ./mockmcp:FuzzRounds

.PHONY: fuzz-long
fuzz-long: ## Fuzz what reads requests, scripts and streams for long (FUZZTIME=10m)
	@for t in $(FUZZ_LONG); do \
	  echo "$$t"; $(GO) test -run '^$$' -fuzz "^$${t##*:}$$" -fuzztime $${FUZZTIME:-10m} -fuzzminimizetime 10x -timeout 0 "$${t%:*}"; \
	done

.PHONY: clean
clean: ## Remove what was built and run
	rm -rf $(BIN) $(TOOLS) runs dist

.PHONY: $(BIN)/rehearse
$(BIN)/rehearse:
	@$(GO) build -o $@ ./cmd/rehearse

$(BIN)/bench/%: always
	@$(GO) -C $(BENCH) build -o $(CURDIR)/$@ ./$*

$(BIN)/interop/%: always
	@$(GO) -C interop build -o $(CURDIR)/$@ ./$*

.PHONY: always
always:

$(TOOLS)/staticcheck:
	GOBIN=$(TOOLS) $(GO) install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)

$(TOOLS)/gofumpt:
	GOBIN=$(TOOLS) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)
