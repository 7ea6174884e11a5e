#!/bin/sh
# start.sh NAME [PORT]: installs the server NAME (a folder beside this file) into a virtual environment of its own, and
# serves on 127.0.0.1:PORT in the foreground, by default 8000. With `install` as the port it only installs. Environments are in $TARGETS_DIR (default: streamassay-targets in the
# temporary folder) and are made anew when requirements.txt changes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
name=${1:-}
[ -f "$here/$name/server.py" ] || { echo "usage: start.sh NAME [PORT], where NAME is one of: $(cd "$here" && ls -d */ | tr -d / | tr '\n' ' ')" >&2; exit 2; }
port=${2:-8000}
env=${TARGETS_DIR:-${TMPDIR:-/tmp}/streamassay-targets}/$name
if ! cmp -s "$here/$name/requirements.txt" "$env/installed"; then
  rm -rf "$env"
  "${PYTHON:-python3}" -m venv "$env"
  "$env/bin/pip" install --quiet --disable-pip-version-check -r "$here/$name/requirements.txt" >&2
  cp "$here/$name/requirements.txt" "$env/installed"
fi
[ "$port" != install ] || exit 0
cd "$env" # the frameworks may write files
exec "$env/bin/python" -B "$here/$name/server.py" "$port"
