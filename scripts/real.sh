#!/usr/bin/env bash
# Holds released servers to their protocol and compares what is found with
# docs/real.tsv, in which somebody has decided who is wrong. TARGETS is the folder with
# the servers' start scripts; they install the servers into a folder of their own
# (REAL_DIR) on the first run. Needs Python 3.11. With SOAK_SEEDS=N each server is played
# the sequences of the seeds 1 to N instead, twice without a restart, and no requirement may
# be broken that docs/real.tsv or docs/soak.tsv does not list for it.
set -euo pipefail
cd "$(dirname "$0")/.."
targets=${TARGETS:-../shared/targets}
[ -d "$targets" ] || { echo "real.sh: there is no folder $targets with start scripts: name it in TARGETS" >&2; exit 2; }
seeds=${SOAK_SEEDS:-0}
out=$(mktemp -d)
pids=()
finish() { for p in "${pids[@]}"; do kill -- "-$p" 2>/dev/null || true; done; rm -rf "$out"; }
trap finish EXIT
set -m

# free_port prints a port that nobody listens on.
free_port() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }

# run NAME REPORT PORT DIALECT LACKS [FLAG…]: run the suite once.
run() {
  local name=$1 report=$2 port=$3 dialect=$4 lacks=$5
  shift 5
  mkdir -p "$out/$name"
  ./streamassay run "http://127.0.0.1:$port" --dialect "$dialect" ${lacks:+--lacks "$lacks"} "$@" --report "json=$out/$name/$report.json" >"$out/$name.txt" || [ $? -eq 1 ]
  tail -n 1 "$out/$name.txt" | sed "s/^/$report: /"
}

# server NAME DIALECT HEALTH LACKS SCRIPT [MODE]: start it, run the suite, stop it.
server() {
  local name=$1 dialect=$2 health=$3 lacks=$4 port
  port=$(free_port)
  sh "$targets/$5" "$port" ${6:-} >"$out/$name.log" 2>&1 &
  local pid=$!
  pids+=("$pid")
  for _ in $(seq 600); do
    curl -fs -m 2 -o "$out/null" "http://127.0.0.1:$port$health" && break
    kill -0 "$pid" 2>/dev/null || { echo "real.sh: $name did not start:" >&2; tail -n 5 "$out/$name.log" >&2; exit 3; }
    sleep 1
  done
  if [ "$seeds" -gt 0 ]; then
    for round in 1 2; do for seed in $(seq "$seeds"); do
      run "$name" "$name.$round.$seed" "$port" "$dialect" "$lacks" --sequences 20 --seed "$seed" --only text --only recall --only 'sequence-*'
    done; done
  else
    run "$name" "$name" "$port" "$dialect" "$lacks"
  fi
  kill -- "-$pid" 2>/dev/null || true
}

python=agentscope-python/start.sh
server agentscope-1.1.5-default agentscope@1.1 /health "" $python agentscope
server agentscope-1.1.5-text agentscope@1.1 /health messages,contents,reasoning,tool,tools,client-tool $python text
server agentscope-1.1.5-react agentscope@1.1 /health "" $python react
server agentscope-1.1.5-builder agentscope@1.1 /health "" $python builder
server agentscope-0.1.6-native agentscope@0.1 /health "" $python v0.1-native
server agentscope-0.1.6-agentscope agentscope@0.1 /health contents,reasoning $python v0.1-agentscope
server agkit-0.1.1 agkit@0.0.10 /healthz "" agkit-agui/start-agkit-scripted.sh

table=docs/real.tsv
[ "$seeds" -eq 0 ] || table="docs/real.tsv docs/soak.tsv"
python3 - "$out" "$table" "$seeds" <<'PY'
import glob, json, os, sys
folder, table, seeds = sys.argv[1:]
want = {}
for path in table.split():
    for line in open(path, encoding="utf-8").read().splitlines()[1:]:
        server, requirement, level, verdict, _ = line.split("\t")
        want[server, requirement] = level, verdict
got = {}
for path in glob.glob(os.path.join(folder, "*", "*.json")):
    for dialect in json.load(open(path, encoding="utf-8"))["dialects"]:
        for r in dialect["requirements"]:
            if r["verdict"] in ("failed", "warned", "error"):
                got[os.path.basename(os.path.dirname(path)), r["id"]] = r["level"], r["verdict"]
if seeds != "0": # not everything is provoked by sequences, and nothing else may be broken
    want = {key: want[key] for key in want if key in got}
for key in sorted(set(got) | set(want)):
    if got.get(key) != want.get(key):
        print("%s: found %s, %s says %s" % (" ".join(key), got.get(key, "nothing"), table, want.get(key, "nothing")))
same = got == want
print("real: %d broken requirements of 7 servers, %s" % (len(got), "all of them as " + table + " says" if same else "NOT as " + table + " says"))
sys.exit(0 if same else 1)
PY
