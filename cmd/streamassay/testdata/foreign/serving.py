"""What the four servers share: HTTP, and nothing of any protocol.

--url-file PATH   where to write the base URL, once requests are served
--break NAME      break the protocol in this one way; without it the server is meant to be correct
--variant NAME    be correct in this other way
"""

import argparse
import http.server
import json
import os
import sys
import urllib.parse

MOST = 16 << 20  # bytes of a request that are read


class Refused(Exception):
    """A request that is turned down: a status, and a body of JSON."""

    def __init__(self, status, body):
        super().__init__(status)
        self.status, self.body = status, body


class Handler(http.server.BaseHTTPRequestHandler):
    """Looks up what is asked for in routes: (method, path) → function of the handler.

    A part of a path in braces fits anything. It is handed to the function by position.
    """

    protocol_version = "HTTP/1.1"
    routes = {}
    broken = ""
    variant = ""

    def dispatch(self):
        """Answers one request, whatever its method."""
        url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        length = int(self.headers.get("Content-Length") or 0)
        if length > MOST:
            self.close_connection = True
            return self.reply(413, self.refusal(413, "too large"))
        chunked = "chunked" in self.headers.get("Transfer-Encoding", "").lower()
        self.body = self.chunks() if chunked else self.rfile.read(length)
        allowed = []
        for (method, pattern), function in self.routes.items():
            parts = fits(pattern, url.path)
            if parts is None:
                continue
            if method == self.command:
                try:
                    return function(self, *parts)
                except Refused as no:
                    return self.reply(no.status, no.body)
            allowed.append(method)
        if allowed:
            return self.reply(405, self.refusal(405, "Method Not Allowed"), Allow=", ".join(allowed))
        return self.reply(404, self.refusal(404, "Not Found"))

    def chunks(self):
        """The body of a request that is sent in chunks, without their framing."""
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():  # the trailer
            pass
        return body

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = dispatch

    def refusal(self, status, text):
        """The body that says that nothing can be done."""
        return {"detail": text}

    def reply(self, status, body, **headers):
        """Answers with a body of JSON."""
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def stream(self, frames, whole=True):
        """Answers with a stream: each frame is a chunk, sent when it is made."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for frame in frames:
                text = frame.encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            if whole:
                self.wfile.write(b"0\r\n\r\n")
            else:
                self.close_connection = True
        except ConnectionError:  # the client has left
            self.close_connection = True

    def cut(self, frames):
        """Answers with a stream whose length is declared, and breaks off before its end."""
        text = "".join(frames).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text[: len(text) // 2])
        self.close_connection = True

    def log_message(self, *args):
        """Keeps quiet."""


def fits(pattern, path):
    """The parts of a path that stand for the braces of a pattern; None if it does not fit."""
    want, have = pattern.split("/"), path.split("/")
    if len(want) != len(have) or any(w != h for w, h in zip(want, have) if w != "{}"):
        return None
    return [urllib.parse.unquote(h) for w, h in zip(want, have) if w == "{}"]


def halves(text):
    """A text in two pieces, if it has two characters."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Tells of what went wrong; that a client has left is not."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main(handler, breakages, variants=()):
    """Serves until it is killed."""
    flags = argparse.ArgumentParser()
    flags.add_argument("--url-file", required=True)
    flags.add_argument("--break", dest="broken", default="", choices=breakages)
    flags.add_argument("--variant", default="", choices=variants)
    given = flags.parse_args()
    handler.broken, handler.variant = given.broken, given.variant
    server = Server(("127.0.0.1", 0), handler)
    with open(given.url_file + ".new", "w") as file:
        file.write("http://127.0.0.1:%d" % server.server_port)
    os.rename(given.url_file + ".new", given.url_file)
    server.serve_forever()
