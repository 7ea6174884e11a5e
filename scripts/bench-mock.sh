#!/usr/bin/env bash
# What the mock serves, side by side with a plain net/http server (bench/gobase): medians
# of interleaved rounds. ROUNDS and SECONDS_EACH say how long it takes.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-5}
. scripts/bench-lib.sh
declare -A body
mock() { start mock "$@"; body[$1]=$twelve; }

for _ in 1 2 3 4 5; do
  rm -f "$out/cold.ready"; began=$EPOCHREALTIME
  mock cold
  curl -sN -o "$out/null" -H 'Content-Type: application/json' -d "$twelve" "${url[cold]}"
  awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.0f\n", (b-a)*1000}'
  kill "${pid[cold]}"; wait "${pid[cold]}" 2>/dev/null || true
done | median | sed 's/^/cold start to the first whole stream, curl and all: /; s/$/ ms, median of 5 (wanted <= 30)/'

mock idle
echo "idle memory: $(memory "${pid[idle]}" VmRSS) MB (wanted <= 30)"

plain
url[base-each]=$root/agui pid[base-each]=${pid[base]}
body[base]=$base body[base-each]=$base
mock mock
mock mock-each --flush each
mock mock-brief --journal 1 --journal-body 1B
names=(base mock mock-brief base-each mock-each)
for ((i = 0; i < rounds; i++)); do
  for n in "${names[@]}"; do
    load "$n" "${body[$n]}"
  done
done
row() { # NAME BASE WHAT
  local r b
  r=$(field per_s <"$out/$1.load" | median) b=$(field per_s <"$out/$2.load" | median)
  awk -v w="$3" -v r="$r" -v b="$b" 'BEGIN {printf "  %-46s %7.0f streams/s, %3.0f %% of the plain server (%.0f)\n", w, r, 100*r/b, b}'
}
echo "12-event streams, 64 connections, requests validated, median of $rounds rounds of $each s:"
row mock base "coalesced (wanted >= 85 %)"
row mock-brief base "the same, a journal of one entry"
row mock-each base-each "a flush for each event (wanted >= 90 %)"
go test -run XXX -bench BenchmarkStream -benchmem ./mockserver | grep Benchmark

echo "2,000 paced streams, an event each 500 ms (wanted: all whole, jitter p99 <= 3 ms, drift p99 <= 2 ms, <= 100 MB):"
mock paced
pace paced
