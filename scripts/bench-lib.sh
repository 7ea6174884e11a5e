# What the benchmarks of servers share; it is sourced. It leaves a folder $out, which is
# removed at the end with every process in pids, and a plain server at $root.
out=$(mktemp -d)
pids=()
trap 'for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$out"' EXIT
each=${SECONDS_EACH:-3}
(cd bench && go build -o "$out/" ./...)
declare -A url pid
base='{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hello"}]}'
twelve='{"conversationId":"c1","messages":[{"role":"user","content":"conformance:many 11"}]}'
paced='{"conversationId":"c2","messages":[{"role":"user","content":"conformance:slow 21 500"}]}'

# start COMMAND NAME ARGS...: starts a server of ours; url and pid of NAME are its own
start() {
  local command=$1 name=$2; shift 2
  ./streamassay "$command" --dialect agkit --ready-file "$out/$name.ready" --log off "$@" >"$out/$name.log" 2>&1 &
  pid[$name]=$! # before anything else is started
  pids+=("${pid[$name]}")
  for _ in {1..2000}; do [ -s "$out/$name.ready" ] && break; read -rt 0.005 <> <(:) || true; done
  url[$name]=$(sed -n 's/.*"base":{"[^"]*":"\([^"]*\)".*/\1/p' "$out/$name.ready")/send-message
}
# plain: starts the plain server
plain() {
  "$out/gobase" -addr 127.0.0.1:0 >"$out/gobase.log" 2>&1 &
  pid[base]=$!
  pids+=("${pid[base]}")
  for _ in {1..2000}; do grep -q listening "$out/gobase.log" && break; read -rt 0.005 <> <(:) || true; done
  root=$(sed -n 's/^listening //p' "$out/gobase.log")
  url[base]=$root/agui-co
}
# load NAME BODY: one round
load() {
  "$out/load" load -label "$1" -url "${url[$1]}" -body "$2" -want 12 -c 64 -d "${each}s" -n 3000000 -pid "${pid[$1]}" >>"$out/$1.load"
}
# pace NAME: 2,000 paced streams
pace() {
  "$out/load" paced -url "${url[$1]}" -body "$paced" -streams 2000 -events 20 -interval 500ms -d 40s -pid "${pid[$1]}" | cut -c1-600
  echo "  most memory: $(memory "${pid[$1]}" VmHWM) MB"
}
field() { grep -o "\"$1\":[0-9.]*" | grep -o '[0-9.]*$'; }
median() { sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
memory() { awk -v f="$2" '$1 == f":" {printf "%.1f", $2/1024}' "/proc/$1/status"; }
