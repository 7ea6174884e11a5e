"""Reads event streams with httpx-sse: a job a line comes in, and what the client made of
it goes out. Kind "once" is the quick start of its README; "again" is the README's recipe
for coming back, to the letter."""

import json
import logging
import sys
import threading
import time

import httpx
import stamina
from httpx_sse import connect_sse

out = threading.Lock()
logging.getLogger("stamina").setLevel(logging.ERROR)  # that it comes back
# Its retries are a matter of the recipe; how long they wait is not what is looked at.
stamina.set_testing(True, attempts=10, cap=True)


class Headed(httpx.HTTPTransport):
    """A transport that sets headers."""

    def __init__(self, job):
        super().__init__()
        self.job = job
        self.asks = 0

    def handle_request(self, request):
        if self.asks == 0:
            request.headers.update(self.job["first"])
        request.headers.update(self.job["every"])
        self.asks += 1
        return super().handle_request(request)


def once(client, method, url):
    with connect_sse(client, method, url) as event_source:
        event_source.response.raise_for_status()
        yield from event_source.iter_sse()


def again(client, method, url):
    last_event_id = ""
    reconnection_delay = 0.0

    @stamina.retry(on=httpx.ReadError)
    def _iter_sse():
        nonlocal last_event_id, reconnection_delay

        time.sleep(reconnection_delay)

        headers = {"Accept": "text/event-stream"}

        if last_event_id:
            headers["Last-Event-ID"] = last_event_id

        with connect_sse(client, method, url, headers=headers) as event_source:
            for sse in event_source.iter_sse():
                last_event_id = sse.id

                if sse.retry is not None:
                    reconnection_delay = sse.retry / 1000

                yield sse

    return _iter_sse()


def read(job):
    headed = Headed(job)
    events = []
    answer = {"job": job["job"], "events": events, "end": "ends"}
    try:
        with httpx.Client(transport=headed) as client:
            for sse in {"once": once, "again": again}[job["kind"]](client, "GET", job["url"]):
                events.append({"id": sse.id, "data": sse.data})
    except Exception as error:  # what it raises is what is looked at
        answer["end"] = "error"
        answer["error"] = type(error).__name__
    with out:
        print(json.dumps(answer), flush=True)


threads = []
for line in sys.stdin:
    threads.append(threading.Thread(target=read, args=(json.loads(line),)))
    threads[-1].start()
for thread in threads:
    thread.join()
