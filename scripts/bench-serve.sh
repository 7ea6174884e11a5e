#!/usr/bin/env bash
# What the reference serves, side by side with a plain net/http server (bench/gobase)
# and with each store. Medians of interleaved rounds. ROUNDS and SECONDS_EACH say how
# long it takes; REDIS=0 leaves Redis out.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-3}
. scripts/bench-lib.sh
plain
start serve memory --state memory
start serve sqlite --state "sqlite:$out/state.db"
names=(base memory sqlite)
if [ "${REDIS:-1}" = 1 ] && command -v redis-server >/dev/null; then
  redis-server --port 0 --unixsocket "$out/redis.sock" --save '' --dir "$out" >"$out/redis.log" 2>&1 &
  pids+=($!)
  for _ in $(seq 100); do [ -S "$out/redis.sock" ] && break; read -rt 0.05 <> <(:) || true; done
  start serve redis --state "unix://$out/redis.sock"
  names+=(redis)
else
  echo "NOT RUN: redis-server is not installed: the Redis store was not measured"
fi

for ((i = 0; i < rounds; i++)); do
  for n in "${names[@]}"; do
    body=$twelve; [ "$n" = base ] && body=$base
    load "$n" "$body"
  done
done
rate_base=$(field per_s <"$out/base.load" | median)
echo "12-event runs over one request (agkit), 64 connections, median of $rounds rounds of $each s:"
for n in "${names[@]}"; do
  rate=$(field per_s <"$out/$n.load" | median)
  bad=$(awk -F'"bad":|,' '{s+=$2} END {print s+0}' "$out/$n.load")
  awk -v n="$n" -v r="$rate" -v b="$rate_base" -v bad="$bad" 'BEGIN {printf "  %-7s %7.0f streams/s  %3.0f %% of the plain server\n", n, r, 100*r/b}'
done

echo "2,000 paced streams, an event each 500 ms:"
echo "  before: $(memory "${pid[memory]}" VmRSS) MB"
pace memory

echo "runs (dialect runs: POST, then listen), in process, by store:"
go test -run XXX -bench BenchmarkRuns -benchtime 3s ./reference | grep -E 'Benchmark|NOT RUN' || true
