# Every target says what it is for: `make` lists them.
.DEFAULT_GOAL := help
SEEDS ?= ../shared/seeds
export SEEDS

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

build: ## the static binary, ./streamassay
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o streamassay ./cmd/streamassay

test: ## the tests
	go test ./...

race: ## the tests, under the race detector
	go test -race ./...

check: ## formatting, vet, linter, generated files
	@test -z "$$(gofmt -l .)" || { gofmt -l . ; echo "these files are not formatted: run gofmt -w" ; exit 1 ; }
	go vet ./...
	go tool -modfile=tools/go.mod staticcheck ./...
	go mod tidy -diff
	go run ./cmd/streamassay docs --check docs

docs: ## write the documents that are made from the code
	go run ./cmd/streamassay docs --write docs

run: ## the main job: every dialect against the embedded reference
	go run ./cmd/streamassay run

real: build ## run against released servers (installs them; needs Python 3.11)
	./scripts/real.sh

soak: build ## no false alarms: 20 seeds of 20 sequences, twice, against ourselves, the foreign servers and released ones
	SOAK_SEEDS=20 go test ./suites -run 'TestSoak$$' -timeout 6h
	SOAK_SEEDS=20 go test ./cmd/streamassay -run TestForeignersSoak -timeout 6h
	SOAK_SEEDS=20 ./scripts/real.sh

bench: build ## the figures of speed and size
	./scripts/bench.sh
	./scripts/bench-serve.sh
	./scripts/bench-mock.sh

mutants: ## prove that every check can fail: the suite against servers that are wrong in one place each
	go run ./cmd/streamassay mutants --check docs

hostile: ## runs against targets that waste time or memory: renews docs/hostile.md (half an hour, on a quiet machine)
	HOSTILE=docs go test ./cmd/streamassay -run 'TestHostile$$' -timeout 60m

steady: build ## two hundred rounds against the reference on a busy machine: how many verdicts flipped
	./scripts/steady.sh

vary: ## no false alarms: fifty legal variations of the mock, and of the reference's agent, in each dialect
	VARY_SEEDS=50 go test ./mockserver ./suites -run Varied

clients: build ## real clients against the reference and the mock (needs Node, and Chromium for one)
	cd clients && npm ci && npm test

fuzz: ## a minute of fuzzing for each reader of foreign bytes
	go test -run XXX -fuzz FuzzDecoder -fuzztime 60s ./internal/sse
	go test -run XXX -fuzz FuzzParse -fuzztime 60s ./internal/transcript
	go test -run XXX -fuzz FuzzCurl -fuzztime 60s ./internal/transcript
	go test -run XXX -fuzz FuzzHAR -fuzztime 60s ./internal/transcript
	go test -run XXX -fuzz FuzzAnswer -fuzztime 60s ./internal/wire
	go test -run XXX -fuzz FuzzEvents -fuzztime 60s ./spec/dialect
	go test -run XXX -fuzz FuzzMultipart -fuzztime 60s ./spec/dialect
	go test -run XXX -fuzz FuzzRequest -fuzztime 60s ./reference
	go test -run XXX -fuzz FuzzCheck -fuzztime 60s ./reference/speech
	go test -run XXX -fuzz FuzzName -fuzztime 60s ./reference/files
	go test -run XXX -fuzz FuzzLoad -fuzztime 60s ./mockserver/script
	go test -run XXX -fuzz FuzzRead -fuzztime 60s ./mockserver/pace
	go test -run XXX -fuzz FuzzExpect -fuzztime 60s ./mockserver/journal
	go test -run XXX -fuzz FuzzConfig -fuzztime 60s ./cmd/streamassay

.PHONY: help build test race check docs run real soak bench mutants hostile steady vary clients fuzz
