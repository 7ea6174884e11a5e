#!/usr/bin/env bash
# What the mock serves, side by side with a plain net/http server (bench/gobase): medians
# of interleaved rounds. ROUNDS and SECONDS_EACH say how long it takes.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
pids=()
trap 'for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$out"' EXIT
rounds=${ROUNDS:-5} each=${SECONDS_EACH:-3}
(cd bench && go build -o "$out/" ./...)
declare -A url pid body

base='{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hello"}]}'
twelve='{"conversationId":"c1","messages":[{"role":"user","content":"conformance:many 11"}]}'

# mock NAME ARGS...: starts a mock and says its URL and process id
mock() {
  local name=$1; shift
  ./streamassay mock --dialect agkit --ready-file "$out/$name.ready" --log off "$@" >"$out/$name.log" 2>&1 &
  pid[$name]=$! # before anything else is started
  pids+=("${pid[$name]}")
  until [ -s "$out/$name.ready" ]; do read -rt 0.005 <> <(:) || true; done
  url[$name]=$(grep -o '"base":{[^}]*}' "$out/$name.ready" | grep -o 'http://[0-9.:]*')/send-message
  body[$name]=$twelve
}
field() { grep -o "\"$1\":[0-9.]*" | grep -o '[0-9.]*$'; }
median() { sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
memory() { awk -v f="$2" '$1 == f":" {printf "%.1f", $2/1024}' "/proc/$1/status"; }

for _ in 1 2 3 4 5; do
  rm -f "$out/cold.ready"; began=$EPOCHREALTIME
  mock cold
  curl -sN -o "$out/null" -H 'Content-Type: application/json' -d "$twelve" "${url[cold]}"
  awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.0f\n", (b-a)*1000}'
  kill "${pid[cold]}"; wait "${pid[cold]}" 2>/dev/null || true
done | median | sed 's/^/cold start to the first whole stream, curl and all: /; s/$/ ms, median of 5 (wanted <= 30)/'

mock idle
echo "idle memory: $(memory "${pid[idle]}" VmRSS) MB (wanted <= 30)"

"$out/gobase" -addr 127.0.0.1:0 >"$out/gobase.log" 2>&1 &
pids+=($!)
until grep -q listening "$out/gobase.log"; do read -rt 0.01 <> <(:) || true; done
root=http://$(sed -n 's/^listening //p' "$out/gobase.log")
url[base]=$root/agui-co body[base]=$base pid[base]=${pids[-1]}
url[base-each]=$root/agui body[base-each]=$base pid[base-each]=${pids[-1]}
mock mock
mock mock-each --flush each
mock mock-brief --journal 1 --journal-body 1B
names=(base mock mock-brief base-each mock-each)
for ((i = 0; i < rounds; i++)); do
  for n in "${names[@]}"; do
    "$out/load" load -label "$n" -url "${url[$n]}" -body "${body[$n]}" -want 12 -c 64 -d "${each}s" -n 3000000 -pid "${pid[$n]}" >>"$out/$n.load"
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
paced='{"conversationId":"c2","messages":[{"role":"user","content":"conformance:slow 21 500"}]}'
"$out/load" paced -url "${url[paced]}" -body "$paced" -streams 2000 -events 20 -interval 500ms -d 40s -pid "${pid[paced]}" | cut -c1-600
echo "  most memory: $(memory "${pid[paced]}" VmHWM) MB"
