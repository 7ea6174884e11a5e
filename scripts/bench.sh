#!/usr/bin/env bash
# The figures of speed and size: wall times, events per second, memory, size.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
median() { sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
wall() { local t=$EPOCHREALTIME; "$@" >"$out/null" 2>&1 || true; awk -v a="$t" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.3f\n", b-a}'; }

echo "binary: $(stat -c %s streamassay) bytes (docs/adr/0007)"
for _ in 1 2 3 4 5; do wall ./streamassay --version; done | median | sed 's/^/start to --version: /; s/$/ s, median of 5 (wanted <= 0.050)/'
printf 'data: {"type":"text","content":"Hello"}\n\ndata: [DONE]\n\n' >"$out/one.sse"
for _ in 1 2 3 4 5; do wall ./streamassay lint "$out/one.sse" --dialect agkit; done | median | sed 's/^/lint of one small stream: /; s/$/ s, median of 5/'
for _ in 1 2 3 4 5; do wall ./streamassay run; done | median | sed 's/^/run, embedded, all dialects: /; s/$/ s, median of 5 (wanted < 5, aim 2)/'

# recording FORMAT HEAD FRAME: a stream of about 100 MB
recording() {
  awk -v head="$2" -v frame="$3" 'BEGIN { printf "%s", head; for (n = 3; size < 100 * 1048576; n++) { s = sprintf(frame, n); size += length(s); printf "%s", s } }' >"$out/$1.sse"
}
recording agentscope@1.1 \
  'data: {"sequence_number":0,"object":"response","status":"created","id":"R","created_at":1}\n\ndata: {"sequence_number":1,"object":"message","status":"in_progress","id":"M","type":"message","role":"assistant"}\n\n' \
  'data: {"sequence_number":%d,"object":"content","status":"in_progress","error":null,"type":"text","index":0,"delta":true,"msg_id":"M","text":"Hello"}\n\n'
recording runs@2026-04 \
  'id: 1-0\ndata: {"type":"RUN_STARTED","threadId":"T","runId":"r"}\n\nid: 2-0\ndata: {"type":"TEXT_MESSAGE_START","threadId":"T","runId":"r","messageId":"m","role":"assistant"}\n\n' \
  'id: %d-0\nevent: TEXT_MESSAGE_CONTENT\ndata: {"type":"TEXT_MESSAGE_CONTENT","threadId":"T","runId":"r","messageId":"m","delta":"Hello"}\n\n'
recording agkit@0.0.10 '' 'data: {"type":"text","content":"Hello %d"}\n\n'
for d in agentscope@1.1 runs@2026-04 agkit@0.0.10; do
  events=$(grep -c '^data' "$out/$d.sse")
  GOMAXPROCS=1 ./streamassay lint "$out/$d.sse" --dialect "$d" --report json="$out/r.json" >"$out/null" &
  pid=$!
  most=0
  while kill -0 $pid 2>/dev/null; do
    rss=$(awk '/VmHWM/ {print $2}' /proc/$pid/status 2>/dev/null || echo 0)
    [ "${rss:-0}" -gt $most ] && most=$rss
    read -rt 0.05 <> <(:) || true
  done
  wait $pid || true
  ms=$(grep -m1 -o '"duration_ms": *[0-9]*' "$out/r.json" | grep -o '[0-9]*$')
  echo "lint $d, 100 MB, one core: $((events * 1000 / ms)) events/s (wanted >= 50000), $((most / 1024)) MB at most (wanted <= 300)"
done
