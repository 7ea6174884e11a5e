"""Starts the mock, asks it, and looks at what was really delivered: with the standard
library alone. STREAMASSAY names the program."""

import json
import os
import subprocess
import tempfile
import time
import urllib.request

HEADERS = {"Authorization": "Bearer ada", "Content-Type": "application/json"}
THREAD = "550e8400-e29b-41d4-a716-446655440000"


def call(url, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request(url, data, HEADERS | headers), timeout=10)


def start(ready):
    mock = subprocess.Popen([os.environ.get("STREAMASSAY", "streamassay"), "mock", "--dialect", "runs", "--ready-file", ready, "--log", "off"],
                            stdout=subprocess.DEVNULL)
    while not os.path.exists(ready) and mock.poll() is None:
        time.sleep(0.02)
    with open(ready) as file:
        return mock, json.load(file)


def events(stream):
    for line in stream:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


with tempfile.TemporaryDirectory() as folder:
    mock, told = start(os.path.join(folder, "ready.json"))
    try:
        [base] = told["base"].values()
        call(f"{base}/runs", {
            "threadId": THREAD, "runId": "r1", "messages": [{"id": "m1", "role": "user", "content": "conformance:text hello from Python"}],
            "forwardedProps": {"runtime_mode": "chat"},
        })
        with call(f"{base}/runs/{THREAD}/events?runId=r1") as stream:
            text = "".join(e["delta"] for e in events(stream) if e["type"] == "TEXT_MESSAGE_CONTENT")
        assert text == "hello from Python", text

        wanted = {"calls": [{"op": "run", "contains": "hello", "exactly": 1}, {"op": "listen", "ended": "whole", "at-least": 1}]}
        with call(f"{told['control']}/v1/verify", wanted) as answer:
            verdict = json.load(answer)
        assert verdict["ok"], verdict
        print(text)
    finally:
        mock.terminate()
        mock.wait()
