"""A small AgentScope server (1.1), written from the document of the protocol and from what its released server says."""

import json
import threading
import time
import uuid

from serving import Handler, Refused, halves, main
from talking import Failure, talk

BREAKAGES = ["no-arguments", "fragments-unmarked", "one-message-of-two", "any-n", "own-msg-id", "numbers-start-again"]
VARIANTS = ["by-user", "busy"]

ROLES = ("user", "assistant", "system", "tool", None)
CONTENTS = ("text", "image", "data", "audio", "video", "file", "refusal")
NUMBERS = ("top_p", "temperature", "frequency_penalty", "presence_penalty", "max_tokens", "seed")
WHOLE = ("max_tokens", "seed")
TEXTS = ("model", "session_id", "user_id", "id")

sessions = {}  # session_id, and with it the user_id where sessions are those of users → what the user said there
busy = set()  # those of which a run goes on
lock = threading.Lock()


def want(ok, what):
    if not ok:
        raise Refused(422, {"detail": what})


def number(value):
    """Whether a value is a number, or a text that says one."""
    try:
        float(value)
        return True
    except (TypeError, ValueError):
        return False


def read(handler):
    """The request, if it is one."""
    want((handler.headers.get_content_type()) == "application/json", "only JSON is read")
    try:
        ask = json.loads(handler.body)
    except ValueError:
        raise Refused(422, {"detail": "the body is not JSON"}) from None
    want(isinstance(ask, dict), "the body is no object")
    want(isinstance(ask.get("input"), list), "input is no list")
    for message in ask["input"]:
        check(message)
    for name in TEXTS:
        want(isinstance(ask.get(name), (str, type(None))), name + " is no text")
    for name in NUMBERS:
        want(ask.get(name) is None or number(ask[name]), name + " is no number")
        want(ask.get(name) is None or name not in WHOLE or float(ask[name]).is_integer(), name + " is not a whole number")
    n = ask.get("n", 1)
    want(n is None or number(n), "n is no number")
    want(n is None or 1 <= float(n) <= 5 or handler.broken == "any-n", "n is not from 1 to 5")
    want(str(ask.get("stream", True)).lower() in ("true", "false", "1", "0", "yes", "no", "on", "off"), "stream is neither true nor false")
    stop = ask.get("stop")
    want(stop is None or isinstance(stop, str) or isinstance(stop, list) and all(isinstance(s, str) for s in stop), "stop is no text, and no list of texts")
    tools = [] if ask.get("tools") is None else ask["tools"]
    want(isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools), "tools is no list of objects")
    return ask


def check(message):
    """Refuses a message of the input that is none."""
    want(isinstance(message, dict), "a message is no object")
    want(message.get("role") in ROLES, "nobody is called %r" % (message.get("role"),))
    for name in ("type", "id", "object", "status"):
        want(isinstance(message.get(name), (str, type(None))), name + " of a message is no text")
    contents = message.get("content")
    want(contents is None or isinstance(contents, list), "content is no list")
    for content in contents or []:
        want(isinstance(content, dict) and content.get("type") in CONTENTS, "a content of no type that there is")
        for name in ("text", "image_url"):
            want(isinstance(content.get(name), (str, type(None))), name + " is no text")
        want(isinstance(content.get("data"), (dict, str, type(None))), "data is no object")


def words_of(message):
    return "".join(c.get("text") or "" for c in message.get("content") or [] if c["type"] == "text")


def result_of(message):
    return "".join(str(c["data"].get("output", "")) for c in message["content"] if isinstance(c.get("data"), dict))


class Answer:
    """The events of one answer, and what the last of them has to repeat."""

    def __init__(self, ask, broken):
        self.ask, self.broken = ask, broken
        self.id = ask.get("id") or "response_" + uuid.uuid4().hex
        self.session = ask.get("session_id") or uuid.uuid4().hex
        self.created = int(time.time())
        self.next = 0
        self.output = []

    def event(self, object, status, **fields):
        event = {"sequence_number": self.next, "object": object, "status": status, "error": None, **fields}
        self.next += 1
        return event

    def response(self, status, error=None):
        over = status == "completed"
        event = self.event(
            "response", status, id=self.id, created_at=self.created, completed_at=int(time.time()) if over else None,
            output=self.output if over else None, usage=None, session_id=self.session)
        return {**event, "error": error}

    def message(self, *contents, type="message", role="assistant"):
        """Tells one message. A content is its type, and its pieces."""
        if self.broken == "numbers-start-again":
            self.next = 0
        id = "msg_" + uuid.uuid4().hex
        frame = {"id": id, "type": type, "role": role, "code": None, "message": None, "usage": None}
        yield self.event("message", "in_progress", content=None, **frame)
        named = "msg_" + uuid.uuid4().hex if self.broken == "own-msg-id" else id
        whole = []
        for index, (kind, pieces) in enumerate(contents):
            slot = {"type": kind, "index": index, "msg_id": named}
            yield from self.content(slot, pieces)
            whole.append(self.last)
        done = self.event("message", "completed", content=whole, **frame)
        self.output.append(done)
        yield done

    def content(self, slot, pieces):
        """Tells one content: a text in pieces, data as it grows, an image at once."""
        kind, value = slot["type"], ""
        key = "image_url" if kind == "image" else kind
        for piece in pieces:
            if kind == "text":
                value += piece
                yield self.event("content", "in_progress", delta=self.broken != "fragments-unmarked", text=piece, **slot)
                continue
            value = piece
            if kind == "data":
                yield self.event("content", "in_progress", delta=False, data=value, **slot)
        self.last = self.event("content", "completed", delta=False, **{key: value}, **slot)
        yield self.last

    def text(self, words):
        return self.message(("text", halves(words) or [""]))


def answer(ask, said, broken):
    """All that is told of a run; said is what the user said in its session, this time last."""
    a = Answer(ask, broken)
    yield a.response("created")
    yield a.response("in_progress")
    try:
        yield from play(a, said)
    except Failure as why:
        yield a.response("failed", {"code": "AGENT_UNKNOWN_ERROR", "message": str(why)})
    else:
        yield a.response("completed")


def play(a, said):
    messages = a.ask["input"]
    if not messages:
        return
    last = messages[-1]
    if (last.get("type") or "").endswith("_output"):
        results = [result_of(m) for m in messages if (m.get("type") or "").endswith("_output")]
        yield from a.text("tool said: " + "\n".join(results))
        return
    prompt, _, words = words_of(last).partition(" ")
    if prompt == "conformance:text":
        yield from a.text(words)
    elif prompt == "conformance:empty":
        return
    elif prompt == "conformance:messages" and a.broken == "one-message-of-two":
        yield from a.message(("text", ["one", "two"]))
    elif prompt == "conformance:messages":
        yield from a.text("one")
        yield from a.text("two")
    elif prompt == "conformance:contents":
        yield from a.message(("text", ["s", "ee"]), ("image", ["https://example.com/cat.png"]))
    elif prompt == "conformance:reasoning":
        yield from a.message(("text", ["think", "ing"]), type="reasoning")
        yield from a.text(words)
    elif prompt == "conformance:recall":
        yield from a.text(said[-2] if len(said) > 1 else "nothing")
    elif prompt in ("conformance:tool", "conformance:tools"):
        yield from use_tool(a, 2 if prompt == "conformance:tools" else 1, words or "{}")
    elif prompt == "conformance:client-tool" and a.ask.get("tools"):
        yield from call(a, a.ask["tools"][0]["function"]["name"], words)[1]
    else:
        yield from talk(a, prompt, words)


def call(a, name, arguments):
    """The id of a tool call, and the message that tells it: each time with all that is known of the arguments."""
    id = "call_" + uuid.uuid4().hex
    known = ["", arguments[: len(arguments) // 2], arguments]
    return id, a.message(("data", [{"call_id": id, "name": name, "arguments": k} for k in known]), type="plugin_call")


def use_tool(a, times, arguments):
    """Calls the server's own tool."""
    if a.broken == "no-arguments":
        arguments = "{}"
    for _ in range(times):
        id, told = call(a, "lookup", arguments)
        yield from told
        result = {"call_id": id, "name": "lookup", "output": "found"}
        yield from a.message(("data", [result]), type="plugin_call_output", role="tool")
    yield from a.text("That is what I found.")


def process(handler):
    ask = read(handler)
    session = (ask.get("session_id") or uuid.uuid4().hex, ask.get("user_id") if handler.variant == "by-user" else None)
    with lock:
        if session in busy:
            return handler.stream(['data: {"error": "Task %s:%s is already in RUNNING state."}\n\n' % (ask.get("user_id"), session[0])])
        if handler.variant == "busy":
            busy.add(session)
        said = sessions.setdefault(session, [])
        said += [words_of(m) for m in ask["input"] if m.get("role") in ("user", None)]
        said = list(said)
    frames = framed(answer(ask, said, handler.broken), session)
    handler.stream(frames)
    for _ in frames:  # a run that the client has left goes on
        pass


def framed(events, session):
    """The frames; when they are over, and before the client can know, the session is free."""
    for event in events:
        yield "data: %s\n\n" % json.dumps(event, ensure_ascii=False)
    with lock:
        busy.discard(session)


class AgentScope(Handler):
    routes = {
        ("POST", "/process"): process,
        ("GET", "/health"): lambda handler: handler.reply(200, {"status": "healthy", "mode": "daemon_thread", "runner": "ready"}),
        ("GET", "/"): lambda handler: handler.reply(200, {"service": "foreign", "mode": "daemon_thread", "endpoints": {"process": "/process"}}),
    }


main(AgentScope, BREAKAGES, VARIANTS)
