#!/usr/bin/env bash
# real.sh [NAME…]: holds released servers to their protocol and compares what is found with
# docs/real.tsv, in which somebody has decided who is wrong: the servers that are named, or all.
# Some are started by examples/targets, the others by start scripts in the folder TARGETS; both
# install the servers into a folder of their own on the first run. Needs Python 3.11. An example
# that cannot be installed is not run, which is said. With SOAK_SEEDS=N each server is played
# the sequences of the seeds 1 to N instead, twice without a restart, and no requirement may
# be broken that docs/real.tsv or docs/soak.tsv does not list for it.
set -euo pipefail
cd "$(dirname "$0")/.."
targets=${TARGETS:-../shared/targets}
seeds=${SOAK_SEEDS:-0}
wanted=" $* "
out=$(mktemp -d)
pids=()
ran=()
finish() { for p in "${pids[@]}"; do kill -- "-$p" 2>/dev/null || true; done; rm -rf "$out"; }
trap finish EXIT
set -m

# free_port prints a port that nobody listens on.
free_port() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }

# is_wanted NAME: the server is to be run.
is_wanted() { [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]]; }

# run NAME REPORT URL DIALECT FLAGS [FLAG…]: run the suite once.
run() {
  local name=$1 report=$2 url=$3 dialect=$4 flags=$5
  shift 5
  mkdir -p "$out/$name"
  # shellcheck disable=SC2086 # flags are several words
  ./streamassay run "$url" --dialect "$dialect" $flags "$@" --report "json=$out/$name/$report.json" >"$out/$name.txt" || [ $? -eq 1 ]
  tail -n 1 "$out/$name.txt" | sed "s/^/$report: /"
}

# server NAME DIALECT PATH HEALTH FLAGS COMMAND…: start it, run the suite, stop it. PATH is that of
# the base URL; PORT in the command stands for the port.
server() {
  local name=$1 dialect=$2 path=$3 health=$4 flags=$5 port status
  shift 5
  is_wanted "$name" || return 0
  port=$(free_port)
  sh "${@//PORT/$port}" >"$out/$name.log" 2>&1 &
  local pid=$! url=http://127.0.0.1:$port
  pids+=("$pid")
  for _ in $(seq 3000); do
    status=$(curl -s -m 2 -o "$out/null" -w '%{http_code}' "$url$health") || true
    [ "$status" = 200 ] || [ "$status" = 405 ] && break
    kill -0 "$pid" 2>/dev/null || { echo "real.sh: $name did not start:" >&2; tail -n 5 "$out/$name.log" >&2; exit 3; }
    sleep 0.2
  done
  if [ "$seeds" -gt 0 ]; then
    for round in 1 2; do for seed in $(seq "$seeds"); do
      run "$name" "$name.$round.$seed" "$url$path" "$dialect" "$flags" --sequences 20 --seed "$seed" --only text --only recall --only 'sequence-*'
    done; done
  else
    run "$name" "$name" "$url$path" "$dialect" "$flags" --seed 2 # the table holds for this seed
  fi
  kill -- "-$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  ran+=("$name")
}

# shared NAME DIALECT HEALTH LACKS SCRIPT [MODE]: a server with a start script in $targets.
shared() {
  is_wanted "$1" || return 0
  [ -d "$targets" ] || { echo "real.sh: there is no folder $targets with start scripts: name it in TARGETS" >&2; exit 2; }
  server "$1" "$2" "" "$3" "${4:+--lacks $4}" "$targets/$5" PORT ${6:-}
}

# example NAME DIALECT PATH HEALTH LACKS FOLDER: a server of examples/targets.
example() {
  is_wanted "$1" || return 0
  if wait "${installs[$6]}"; then
    server "$1" "$2" "$3" "$4" "--claim all ${5:+--lacks $5}" examples/targets/start.sh "$6" PORT
  else
    echo "NOT RUN: $1: it could not be installed: $(tail -n 1 "$out/$6.install")"
  fi
}

examples="pydantic-ai-2.68.0:pydantic-ai agno-3.1.10:agno agentscope-1.1.5-example:agentscope"
declare -A installs
for e in $examples; do
  if is_wanted "${e%:*}"; then
    timeout "${INSTALL_SECONDS:-900}" sh examples/targets/start.sh "${e#*:}" install >"$out/${e#*:}.install" 2>&1 &
    installs[${e#*:}]=$!
  fi
done

python=agentscope-python/start.sh
shared agentscope-1.1.5-default agentscope@1.1 /health "" $python agentscope
shared agentscope-1.1.5-text agentscope@1.1 /health messages,contents,reasoning,tool,tools,client-tool $python text
shared agentscope-1.1.5-react agentscope@1.1 /health "" $python react
shared agentscope-1.1.5-builder agentscope@1.1 /health "" $python builder
shared agentscope-0.1.6-native agentscope@0.1 /health "" $python v0.1-native
shared agentscope-0.1.6-agentscope agentscope@0.1 /health contents,reasoning $python v0.1-agentscope
shared agkit-0.1.1 agkit@0.0.10 /healthz "" agkit-agui/start-agkit-scripted.sh
example pydantic-ai-2.68.0 agui@1.0 /agent /agent messages pydantic-ai
example agno-3.1.10 agui@1.0 /agui /agui messages,reasoning,interrupt agno
example agentscope-1.1.5-example agentscope@1.1 "" /health "" agentscope

table=docs/real.tsv
[ "$seeds" -eq 0 ] || table="docs/real.tsv docs/soak.tsv"
python3 - "$out" "$table" "$seeds" "${ran[@]}" <<'PY'
import glob, json, os, sys
folder, table, seeds, *ran = sys.argv[1:]
want = {}
for path in table.split():
    for line in open(path, encoding="utf-8").read().splitlines()[1:]:
        server, requirement, level, verdict, _ = line.split("\t")
        if server in ran:
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
print("real: %d broken requirements of %d servers, %s" % (len(got), len(ran), "all of them as " + table + " says" if same else "NOT as " + table + " says"))
sys.exit(0 if same else 1)
PY
