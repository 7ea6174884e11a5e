"""A small server of the AgentScope Java protocol (0.1), written from its document alone.

As in the examples of that document, what is null is left out.
"""

import json
import re
import threading
import time
import uuid

from serving import Handler, Refused, halves, main
from talking import Failure, talk

BREAKAGES = ["unannounced", "pieces-unmarked", "piece-after-end", "snake-case", "failure-without-error", "another-id-at-end"]

TEXTS = ("model", "userId", "sessionId", "responseId")
NUMBERS = ("topP", "temperature", "frequencyPenalty", "presencePenalty")
WHOLE = ("maxTokens", "n", "seed")

sessions = {}  # sessionId → what the user said there
lock = threading.Lock()


def want(ok, what, status=400):
    if not ok:
        raise Refused(status, {"status": status, "error": what})


def of(value, *kinds):
    """Whether a value is absent, or of one of these types; true is no number."""
    return value is None or isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def read(handler):
    """The request, if it is one."""
    accept = handler.headers.get("Accept") or "*/*"
    want(re.search(r"text/event-stream|text/\*|\*/\*", accept), "the answer is an event stream", 406)
    want(handler.headers.get("Content-Type") and handler.headers.get_content_type() == "application/json", "only JSON is read", 415)
    try:
        ask = json.loads(handler.body)
    except ValueError:
        raise Refused(400, {"status": 400, "error": "the body is not JSON"}) from None
    want(isinstance(ask, dict) and isinstance(ask.get("input"), list), "input is no list")
    for message in ask["input"]:
        check(message)
    want(of(ask.get("stream"), bool), "stream is neither true nor false")
    want(all(of(ask.get(name), str) for name in TEXTS), "one of %s is no text" % (TEXTS,))
    want(all(of(ask.get(name), int, float) for name in NUMBERS), "one of %s is no number" % (NUMBERS,))
    want(all(of(ask.get(name), int) for name in WHOLE), "one of %s is no whole number" % (WHOLE,))
    want(of(ask.get("stop"), str, list) and all(isinstance(s, str) for s in ask.get("stop") or ""), "stop is no text, and no list of texts")
    want(of(ask.get("tools"), list) and all(isinstance(tool, dict) for tool in ask.get("tools") or []), "tools is no list of objects")
    return ask


def check(message):
    """Refuses a message of the input that is none."""
    want(isinstance(message, dict), "a message is no object")
    want(message.get("role") in (None, "user", "assistant", "system", "tool"), "nobody is called %r" % (message.get("role"),))
    want(of(message.get("type"), str), "type is no text")
    want(of(message.get("content"), list), "content is no list")
    for content in message.get("content") or []:
        want(isinstance(content, dict) and isinstance(content.get("type"), str), "a content without a type")
        want(of(content.get("text"), str) and of(content.get("imageUrl"), str) and of(content.get("data"), dict), "a content of the wrong type")


def words_of(message):
    return "".join(c.get("text") or "" for c in message.get("content") or [])


def result_of(message):
    return "".join(str((c.get("data") or {}).get("output", "")) for c in message.get("content") or [])


class Answer:
    """The events of one answer."""

    def __init__(self, ask, broken):
        self.ask, self.broken = ask, broken
        self.id = "response_" + str(uuid.uuid4())
        self.created = round(time.time() * 1000)
        self.output = []

    def response(self, status, **more):
        id = self.id + "_end" if self.broken == "another-id-at-end" and status != "created" else self.id
        event = {"object": "response", "status": status, "id": id, "createdAt": self.created, **more}
        if self.ask.get("sessionId"):
            event["sessionId"] = self.ask["sessionId"]
        return event

    def message(self, *contents, type="MESSAGE", role="assistant"):
        """Tells one message. A content is its type, and its pieces."""
        id = "msg_" + str(uuid.uuid4())
        frame = {"object": "message", "id": id, "type": type, "role": role}
        if self.broken != "unannounced":
            yield {**frame, "status": "created"}
        whole = []
        for index, (kind, pieces) in enumerate(contents):
            slot = {"object": "content", "type": kind, "index": index, "msgId": id}
            key, value = {"image": "imageUrl"}.get(kind, kind), None
            for piece in pieces:
                if kind != "text":
                    value = piece
                    continue
                value = (value or "") + piece
                yield {**slot, "status": "in_progress", "delta": self.broken != "pieces-unmarked", "text": piece}
            yield {**slot, "status": "completed", "delta": False, key: value}
            if kind == "text" and self.broken == "piece-after-end":
                yield {**slot, "status": "in_progress", "delta": True, "text": ""}
            whole.append({"object": "content", "type": kind, key: value})
        self.output.append({**frame, "status": "completed", "content": whole})
        yield self.output[-1]

    def text(self, words):
        return self.message(("text", halves(words)))


def answer(ask, said, broken):
    """All that is told of a run; said is what the user said in its session, this time last."""
    a = Answer(ask, broken)
    yield a.response("created")
    try:
        yield from play(a, said)
    except Failure as why:
        error = {} if broken == "failure-without-error" else {"error": {"code": "AGENT_FAILED", "message": str(why)}}
        yield a.response("failed", **error)
    else:
        yield a.response("completed", completedAt=round(time.time() * 1000), output=a.output)


def play(a, said):
    messages = a.ask["input"]
    if not messages:
        return
    if messages[-1].get("type") == "FUNCTION_CALL_OUTPUT":
        results = [result_of(m) for m in messages if m.get("type") == "FUNCTION_CALL_OUTPUT"]
        yield from a.text("tool said: " + "\n".join(results))
        return
    prompt, _, words = words_of(messages[-1]).partition(" ")
    if prompt == "conformance:text":
        yield from a.text(words)
    elif prompt == "conformance:empty":
        return
    elif prompt == "conformance:messages":
        yield from a.text("one")
        yield from a.text("two")
    elif prompt == "conformance:contents":
        yield from a.message(("text", ["see"]), ("image", ["https://example.com/image.jpg"]))
    elif prompt == "conformance:recall":
        yield from a.text(said[-2] if len(said) > 1 else "nothing")
    elif prompt in ("conformance:tool", "conformance:tools"):
        yield from use_tool(a, 2 if prompt == "conformance:tools" else 1, words or "{}")
    elif prompt == "conformance:client-tool" and a.ask.get("tools"):
        yield from call(a, "call_1", a.ask["tools"][0]["function"]["name"], words)
    else:
        yield from talk(a, prompt, words)


def call(a, id, name, arguments):
    return a.message(("data", [{"call_id": id, "name": name, "arguments": arguments}]), type="FUNCTION_CALL")


def use_tool(a, times, arguments):
    """Calls the server's own tool."""
    ids = ["call_" + str(uuid.uuid4()) for _ in range(times)]
    for id in ids:
        yield from call(a, id, "lookup", arguments)
    for id in ids:
        yield from a.message(("data", [{"call_id": id, "output": "found"}]), type="FUNCTION_CALL_OUTPUT", role="tool")
    yield from a.text("That is what I found.")


def frame(event, broken):
    line = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    if broken == "snake-case":
        line = line.replace('"msgId":', '"msg_id":').replace('"createdAt":', '"created_at":')
    return "data:%s\n\n" % line


def process(handler):
    ask = read(handler)
    with lock:
        said = sessions.setdefault(ask.get("sessionId") or uuid.uuid4(), [])
        said += [words_of(m) for m in ask["input"] if m.get("role") == "user"]
        said = list(said)
    handler.stream(frame(event, handler.broken) for event in answer(ask, said, handler.broken))


class AgentScopeJava(Handler):
    routes = {("POST", "/process"): process}


main(AgentScopeJava, BREAKAGES)
