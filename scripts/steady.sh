#!/usr/bin/env bash
# Steadiness: many rounds against the embedded reference while other processes keep every
# core busy. Wanted: no verdict that is not alike in all rounds, and none that is another one
# when the recorded bytes are judged again. ROUNDS (200) and BUSY (a loop for each core) can be set.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-200}
busy=${BUSY:-$(nproc)}
out=$(mktemp -d)
loops=()
finish() {
  for pid in "${loops[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$out"
}
trap finish EXIT
trap 'exit 130' INT TERM

for ((i = 0; i < busy; i++)); do
  (while :; do :; done) &
  loops+=($!)
done

code=0
./streamassay run --repeat "$rounds" --report json="$out/report.json" "$@" >"$out/text" || code=$?
if [ "$rounds" -lt 2 ] || [ ! -s "$out/report.json" ]; then
  cat "$out/text"
  echo "steady: VOID: there is no report of two rounds or more (exit $code)"
  exit 1
fi

# Each requirement that did not come out alike has one "flaky" object, which counts the
# rounds by verdict: what is not the most frequent one has flipped.
awk -v rounds="$rounds" -v busy="$busy" -v code="$code" '
  /^ "rounds": /        { gsub(/[^0-9]/, ""); played = $0 }
  /^ "duration_ms": /   { gsub(/[^0-9]/, ""); took = $0 / 1000 }
  /^   "requirements": \[/ { laws = 1 }
  /^   "checks": \[/       { laws = 0 }
  laws && /^     "id": / { id = $2; gsub(/[",]/, "", id); judged++ }
  laws && /^     "flaky": \{/ { flaky = 1; most = 0; all = 0; said = ""; next }
  flaky && /\}/ { flaky = 0; flips += all - most; laid++; print "  " id ":" said; next }
  flaky { v = $1; n = $2; gsub(/[":,]/, "", v); gsub(/[^0-9]/, "", n); all += n; if (n + 0 > most) most = n + 0; if (n + 0 > 0) said = said " " v " " n }
  /^ "harness": \[/ { harness = 1; next }
  harness && /^ \]/ { harness = 0 }
  harness { wrong++; print "  harness:" $0 }
  END {
    printf "steady: %d rounds, %d requirements each, %d busy loops beside them, %.0f s: %d verdicts flipped in %d requirements (wanted 0), %d judged otherwise from their bytes (wanted 0), exit %d (wanted 0)\n",
      played, judged, busy, took, flips, laid, wrong, code
    exit !(played == rounds && judged > 0 && flips == 0 && wrong == 0 && code == 0)
  }' "$out/report.json"
