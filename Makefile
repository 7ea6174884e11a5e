# The comment after ## is the description of a target that `make` prints.
.DEFAULT_GOAL := help
SEEDS ?= ../shared/seeds
export SEEDS

help: ## list all targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

build: ## build the static binary ./streamassay
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o streamassay ./cmd/streamassay

test: ## run all tests
	go test ./...

race: ## run all tests with the race detector
	go test -race ./...

check: ## check formatting, go vet, the linter and generated files
	@test -z "$$(gofmt -l .)" || { gofmt -l . ; echo "these files are not formatted: run gofmt -w" ; exit 1 ; }
	go vet ./...
	go tool -modfile=tools/go.mod staticcheck ./...
	go mod tidy -diff
	go run ./cmd/streamassay docs --check docs

docs: ## generate the documents that list checks, requirements, faults and coverage
	go run ./cmd/streamassay docs --write docs
	go test ./internal/coverage -run Document -update

run: ## test the embedded reference in every dialect
	go run ./cmd/streamassay run

real: build ## test released servers and examples/targets (installs them; needs Python 3.11)
	./scripts/real.sh

soak: build ## look for false alarms: 20 seeds of 20 sequences, twice, against reference, mock, foreign and released servers
	SOAK_SEEDS=20 go test ./suites -run 'TestSoak$$' -timeout 6h
	SOAK_SEEDS=20 go test ./cmd/streamassay -run TestForeignersSoak -timeout 6h
	SOAK_SEEDS=20 ./scripts/real.sh

bench: build ## measure speed and size
	./scripts/bench.sh
	./scripts/bench-serve.sh
	./scripts/bench-mock.sh

mutants: ## test the checks: run the suite against mutants, servers with one defect each
	go run ./cmd/streamassay mutants --check docs

hostile: ## test hostile servers with the default limits, and write docs/hostile.md (half an hour on a quiet machine)
	HOSTILE=docs go test ./cmd/streamassay -run 'TestHostile$$' -timeout 60m

steady: build ## count verdicts that change in 200 rounds against the reference on a busy machine
	./scripts/steady.sh

vary: ## look for false alarms: 50 legal variations of recordings, and of mock and scripted agent in each dialect
	VARY_SEEDS=50 go test ./mockserver ./suites ./internal/vary -run "Varied|TestLegal" -timeout 1h

all-versions: ## test faults, servers that say nothing and servers in Python in every version, with every scenario
	ALL_VERSIONS=1 go test ./mockserver -run TestEveryFaultIsSeen -timeout 1h
	ALL_VERSIONS=1 go test ./suites -run 'TestNullTargets|TestOtherProtocols|TestUploads' -timeout 1h
	ALL_VERSIONS=1 go test ./cmd/streamassay -run 'TestForeigners$$' -timeout 1h

clients: build ## test real clients against reference and mock (needs Node, and Chromium for one of them)
	cd clients && npm ci && npm test

agui-mutants: build ## compare what a stock AG-UI client and streamassay notice of each mutant (needs Node)
	cd clients && npm ci && node agui/mutants.mjs

fuzz: ## fuzz each parser of untrusted input for a minute
	go test -run XXX -fuzz FuzzDecoder -fuzztime 60s ./internal/sse
	go test -run XXX -fuzz FuzzParse -fuzztime 60s ./internal/transcript
	go test -run XXX -fuzz FuzzCurl -fuzztime 60s ./internal/transcript
	go test -run XXX -fuzz FuzzHAR -fuzztime 60s ./internal/transcript
	go test -run XXX -fuzz FuzzAnswer -fuzztime 60s ./internal/wire
	go test -run XXX -fuzz FuzzEvents -fuzztime 60s ./spec/dialect
	go test -run XXX -fuzz FuzzMultipart -fuzztime 60s ./spec/dialect
	go test -run XXX -fuzz FuzzRequest -fuzztime 60s ./reference
	go test -run XXX -fuzz FuzzCheck -fuzztime 60s ./internal/speech
	go test -run XXX -fuzz FuzzName -fuzztime 60s ./internal/files
	go test -run XXX -fuzz FuzzLoad -fuzztime 60s ./internal/script
	go test -run XXX -fuzz FuzzRead -fuzztime 60s ./internal/pace
	go test -run XXX -fuzz FuzzExpect -fuzztime 60s ./internal/journal
	go test -run XXX -fuzz FuzzConfig -fuzztime 60s ./cmd/streamassay

.PHONY: help build test race check docs run real soak bench mutants hostile steady vary all-versions clients agui-mutants fuzz
