#!/usr/bin/env bash
# What the reference serves, side by side with a plain net/http server (bench/gobase)
# and with each store. Medians of interleaved rounds. ROUNDS and SECONDS_EACH say how
# long it takes; REDIS=0 leaves Redis out.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
pids=()
trap 'for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$out"' EXIT
rounds=${ROUNDS:-3} each=${SECONDS_EACH:-3}
(cd bench && go build -o "$out/" ./...)

base='{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hello"}]}'
agkit='{"conversationId":"c1","messages":[{"role":"user","content":"conformance:many 11"}]}'

# serve NAME ARGS...: starts a reference and says its URL and process id
serve() {
  local name=$1; shift
  ./streamassay serve --dialect agkit --ready-file "$out/$name.ready" --log off "$@" >"$out/$name.log" 2>&1 &
  pid[$name]=$! # before anything else is started
  pids+=("${pid[$name]}")
  for _ in $(seq 100); do [ -s "$out/$name.ready" ] && break; read -rt 0.05 <> <(:) || true; done
  url[$name]=$(grep -o 'http://[0-9.:]*' "$out/$name.ready" | head -1)/send-message
}
declare -A url pid
"$out/gobase" -addr 127.0.0.1:0 >"$out/gobase.log" 2>&1 &
pids+=($!); pid[base]=$!
for _ in $(seq 100); do grep -q listening "$out/gobase.log" && break; read -rt 0.05 <> <(:) || true; done
root=http://$(sed -n 's/^listening //p' "$out/gobase.log")
url[base]=$root/agui-co
serve memory --state memory
serve sqlite --state "sqlite:$out/state.db"
names=(base memory sqlite)
if [ "${REDIS:-1}" = 1 ] && command -v redis-server >/dev/null; then
  redis-server --port 0 --unixsocket "$out/redis.sock" --save '' --dir "$out" >"$out/redis.log" 2>&1 &
  pids+=($!)
  for _ in $(seq 100); do [ -S "$out/redis.sock" ] && break; read -rt 0.05 <> <(:) || true; done
  serve redis --state "unix://$out/redis.sock"
  names+=(redis)
else
  echo "NOT RUN: redis-server is not installed: the Redis store was not measured"
fi

field() { grep -o "\"$1\":[0-9.]*" | grep -o '[0-9.]*$'; }
median() { sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
for ((i = 0; i < rounds; i++)); do
  for n in "${names[@]}"; do
    body=$agkit; [ "$n" = base ] && body=$base
    "$out/load" load -label "$n" -url "${url[$n]}" -body "$body" -want 12 -c 64 -d "${each}s" -n 3000000 -pid "${pid[$n]}" >>"$out/$n.load"
  done
done
plain=$(field per_s <"$out/base.load" | median)
echo "12-event runs over one request (agkit), 64 connections, median of $rounds rounds of $each s:"
for n in "${names[@]}"; do
  rate=$(field per_s <"$out/$n.load" | median)
  bad=$(awk -F'"bad":|,' '{s+=$2} END {print s+0}' "$out/$n.load")
  awk -v n="$n" -v r="$rate" -v b="$plain" -v bad="$bad" 'BEGIN {printf "  %-7s %7.0f streams/s  %3.0f %% of the plain server\n", n, r, 100*r/b}'
done

echo "2,000 paced streams, an event each 500 ms:"
paced='{"conversationId":"c2","messages":[{"role":"user","content":"conformance:slow 21 500"}]}'
before=$(awk '/VmRSS/ {print $2}' "/proc/${pid[memory]}/status")
"$out/load" paced -url "${url[memory]}" -body "$paced" -streams 2000 -events 20 -interval 500ms -d 40s -pid "${pid[memory]}" | tee "$out/paced" | cut -c1-600
awk '/VmHWM/ {print "  most memory: " int($2/1024) " MB"}' "/proc/${pid[memory]}/status"
echo "  before: $((before / 1024)) MB"

echo "runs (dialect runs: POST, then listen), in process, by store:"
go test -run XXX -bench BenchmarkRuns -benchtime 3s ./reference | grep -E 'Benchmark|NOT RUN' || true
