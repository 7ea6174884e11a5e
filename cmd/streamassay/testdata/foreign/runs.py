"""A small server of the runs API (2026-04), written from its two documents.

It takes no attachments, and transcribes nothing. Its users are ada and bob; their tokens are their names.
"""

import datetime
import http
import json
import threading
import time
import uuid

from serving import Handler, Refused, halves, main
from talking import paced

BREAKAGES = ["wants-snake-case", "cut-body", "half-of-large", "deaf-to-cursor", "always-new", "any-length-of-run-id"]
VARIANTS = ["one-at-a-time", "recalls-what-ended"]

USERS = ("ada", "bob")
STREAMS = 48  # at once, of one user
POLL = 0.5  # seconds
MOST = 256 * 1024  # bytes of a RunAgentInput

moved = threading.Condition()  # held by whoever looks at what is below; told when a run went on
threads = {}  # threadId → Thread
streams = dict.fromkeys(USERS, 0)


class Thread:
    """A conversation: its events in order, whose cursor is their place, and what was said."""

    def __init__(self, owner):
        self.owner = owner
        self.events = []
        self.messages = []
        self.runs = {}  # runId → whether it is to be canceled
        self.open = set()  # runs that go on
        self.ended = []  # what the user said in runs that ended well

    def tell(self, run, type, **fields):
        with moved:
            self.events.append({"type": type, "runId": run, **fields})
            moved.notify_all()

    def keep(self, role, content):
        now = datetime.datetime.now(datetime.timezone.utc)
        with moved:
            message = {"id": str(uuid.uuid4()), "seq": len(self.messages) + 1, "role": role, "content": content}
            self.messages.append({**message, "timestamp": now.isoformat()})


def refuse(status, code, detail):
    raise Refused(status, problem(status, code, detail))


def problem(status, code, detail):
    return {"title": http.HTTPStatus(status).phrase, "status": status, "code": code, "detail": detail}


def user_of(handler):
    scheme, _, token = handler.headers.get("Authorization", "").partition(" ")
    if scheme != "Bearer" or token not in USERS:
        refuse(401, "AGENT_UNAUTHENTICATED", "who is that?")
    return token


def thread_of(handler, id):
    """A thread that is the user's own."""
    user = user_of(handler)
    with moved:
        thread = threads.get(id)
    if thread is None:
        refuse(404, "AGENT_THREAD_UNKNOWN", "there is no such thread")
    if thread.owner != user:
        refuse(403, "AGENT_FORBIDDEN", "the thread is not yours")
    return thread


# What is asked for is checked first.


def want(ok, what, code="AGENT_RUN_INPUT_INVALID"):
    if not ok:
        refuse(422, code, what)


def want_message(ok, what):
    want(ok, what, "AGENT_RUN_MESSAGES_INVALID")


def read_input(handler):
    """The RunAgentInput, if it is one."""
    want(len(handler.body) <= MOST, "RunAgentInput payload exceeds size limit")
    want(handler.headers.get_content_type() == "application/json", "only JSON is read")
    try:
        given = json.loads(handler.body)
    except ValueError:
        refuse(422, "AGENT_RUN_INPUT_INVALID", "the body is not JSON")
    want(isinstance(given, dict), "the body is no object")
    if handler.broken == "wants-snake-case":
        want("thread_id" in given, "thread_id is missing")
    want(is_uuid(given.get("threadId")), "threadId must be a valid UUID")
    run = given.get("runId")
    want(isinstance(run, str) and run, "runId is no text")
    want(len(run) <= 128 or handler.broken == "any-length-of-run-id", "runId exceeds length limit")
    want(text_or_none(given.get("parentRunId")), "parentRunId is no text")
    check_messages(given.get("messages"))
    for tool in items(given, "tools"):
        want(all(isinstance(tool.get(name), str) for name in ("name", "description")), "a tool has no name, or no description")
        want(isinstance(tool.get("parameters"), dict), "the parameters of a tool are no object")
    for item in items(given, "context"):
        want(all(isinstance(item.get(name), str) for name in ("description", "value")), "a context has no description, or no value")
    props = given.get("forwardedProps")
    want(isinstance(props, dict) and props.get("runtime_mode") in ("chat", "automation"), "runtime_mode is neither chat nor automation")
    return given


def is_uuid(value):
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False


def text_or_none(value):
    return value is None or isinstance(value, str)


def items(given, name):
    value = given.get(name)
    value = [] if value is None else value
    want(isinstance(value, list) and all(isinstance(item, dict) for item in value), name + " is no list of objects")
    return value


def check_messages(messages):
    want_message(isinstance(messages, list) and all(isinstance(m, dict) for m in messages), "messages is no list of objects")
    want_message(len(messages) <= 200, "RunAgentInput.messages exceeds limit")
    for message in messages:
        want_message(isinstance(message.get("id"), str), "a message has no id")
        check = CHECKS.get(message.get("role") if isinstance(message.get("role"), str) else None)
        want_message(check is not None, "a message of no role that there is")
        want_message(text_or_none(message.get("name")) and text_or_none(message.get("encryptedValue")), "name or encryptedValue is no text")
        check(message)
    one = sum(m["role"] == "user" for m in messages) == 1
    want_message(one, "RunAgentInput.messages must contain exactly one user message")
    want_message(messages[0]["role"] == "user", "RunAgentInput.messages[0].role must be user")


def check_user(message):
    content = message.get("content")
    want_message(isinstance(content, (str, list)), "content is no text, and no list of blocks")
    for block in content if isinstance(content, list) else []:
        want_message(isinstance(block, dict) and block.get("type") in ("text", "binary"), "a block of no type that there is")
        if block["type"] == "text":
            want_message(isinstance(block.get("text"), str), "a block of text has none")
            continue
        mime = block.get("mimeType")
        want_message(isinstance(mime, str) and mime.startswith("image/"), "binary content requires image mimeType")
        want_message(isinstance(block.get("url"), str), "binary content requires url")
        want_message(block.get("data") is None, "binary content data is not allowed")
        want_message(False, "the url of a binary content is none that this server has signed")
    want_message(len(words_of(message)) <= 10_000, "RunAgentInput user message text exceeds limit")


def check_assistant(message):
    want_message(text_or_none(message.get("content")), "content is no text")
    calls = message.get("toolCalls")
    want_message(calls is None or isinstance(calls, list), "toolCalls is no list")
    for call in calls or []:
        want_message(isinstance(call, dict) and isinstance(call.get("id"), str), "a tool call has no id")
        want_message(call.get("type") == "function" and isinstance(call.get("function"), dict), "a tool call is no function")
        want_message(isinstance(call["function"].get("name"), str), "a function has no name")
        want_message(isinstance(call["function"].get("arguments"), str), "arguments are no text")
        want_message(text_or_none(call.get("encryptedValue")), "encryptedValue is no text")


def check_text(message):
    want_message(isinstance(message.get("content"), str), "content is no text")


def check_tool(message):
    check_text(message)
    want_message(isinstance(message.get("toolCallId"), str), "a result has no toolCallId")
    want_message(text_or_none(message.get("error")), "error is no text")


def check_nothing(message):
    """What these messages hold is not said."""


CHECKS = {
    "user": check_user, "assistant": check_assistant, "system": check_text, "tool": check_tool,
    "developer": check_nothing, "reasoning": check_nothing, "activity": check_nothing,
}


def words_of(message):
    content = message["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def run_id(handler):
    run = handler.query.get("runId", "")
    want(0 < len(run) <= 128, "runId is missing, or too long", "AGENT_INVALID_RUN_ID")
    return run


# Runs.


def create(handler):
    user = user_of(handler)
    given = read_input(handler)
    id, run = given["threadId"], given["runId"]
    with moved:
        created = id not in threads
        thread = threads.setdefault(id, Thread(user))
        if thread.owner != user:
            refuse(403, "AGENT_FORBIDDEN", "the thread is not yours")
        again = run in thread.runs
        if thread.open and not again and handler.variant == "one-at-a-time":
            refuse(409, "AGENT_THREAD_BUSY", "a run of this thread goes on")
        thread.runs.setdefault(run, False)
        if not again:
            thread.open.add(run)
            said = [m["content"] for m in thread.messages if m["role"] == "user"]
            if handler.variant == "recalls-what-ended":
                said = list(thread.ended)
            threads[id] = threads.pop(id)  # the latest is the last
            thread.keep("user", words_of(given["messages"][0]))
    if not again:
        threading.Thread(target=play, args=(thread, run, words_of(given["messages"][0]), said, handler.broken), daemon=True).start()
    created = created or handler.broken == "always-new"
    handler.reply(202, {"taskId": str(uuid.uuid4()), "threadId": id, "runId": run, "created": created})


def cancel(handler, id):
    thread, run = thread_of(handler, id), run_id(handler)
    with moved:
        if run in thread.runs:
            thread.runs[run] = True
        moved.notify_all()
    handler.reply(202, {"threadId": id, "runId": run, "accepted": True})


class Failure(Exception):
    """The run ends here: a code, and why."""


def play(thread, run, text, said, broken):
    """What a run does, from its start to its end."""
    thread.tell(run, "RUN_STARTED")
    answer = []
    try:
        for type, fields in script(text, said, broken):
            if thread.runs[run]:
                raise Failure("RUN_CANCELED", "the run was canceled")
            thread.tell(run, type, **fields)
            if type == "TEXT_MESSAGE_CONTENT":
                answer.append(fields["delta"])
            if type == "TEXT_MESSAGE_END":
                thread.keep("assistant", "".join(answer))
                answer = []
            if type == "TOOL_CALL_RESULT":
                thread.keep("tool", fields["content"])
    except Failure as why:
        end = {"type": "RUN_ERROR", "code": why.args[0], "message": why.args[1]}
    else:
        end = {"type": "RUN_FINISHED"}
    with moved:
        thread.open.discard(run)
        if end["type"] == "RUN_FINISHED":
            thread.ended.append(text)
        thread.tell(run, **end)


def script(text, said, broken):
    """The events between a run's first and last, for what the user says; said is what was said before."""
    prompt, _, words = text.partition(" ")
    numbers = [int(word) for word in words.split() if word.isdigit()]
    if prompt == "conformance:text":
        yield from message(halves(words))
    elif prompt == "conformance:empty":
        return
    elif prompt == "conformance:messages":
        yield from message(["one"])
        yield from message(["two"])
    elif prompt == "conformance:recall":
        yield from message([said[-1] if said else "nothing"])
    elif prompt in ("conformance:tool", "conformance:tools"):
        yield from use_tool(2 if prompt == "conformance:tools" else 1, words or "{}")
    elif prompt == "conformance:slow" and len(numbers) == 2:
        yield from message(paced(*numbers))
    elif prompt == "conformance:many" and numbers:
        yield from message(paced(numbers[0], 0))
    elif prompt == "conformance:large" and numbers:
        yield from message(["x" * (numbers[0] // 2 if broken == "half-of-large" else numbers[0])])
    elif prompt == "conformance:idle" and numbers:
        time.sleep(numbers[0] / 1000)
        yield from message(["done"])
    elif prompt == "conformance:error":
        raise Failure("RUN_FAILED", words)
    elif prompt == "conformance:error-mid":
        yield from message(fail_after(["I was about ", "to say"], words))
    else:
        yield from message(["Hello, ", "world."])


def message(pieces):
    id = str(uuid.uuid4())
    yield "TEXT_MESSAGE_START", {"messageId": id, "role": "assistant"}
    for piece in pieces:
        yield "TEXT_MESSAGE_CONTENT", {"messageId": id, "delta": piece}
    yield "TEXT_MESSAGE_END", {"messageId": id}


def use_tool(times, arguments):
    ids = [str(uuid.uuid4()) for _ in range(times)]
    for id in ids:
        yield "TOOL_CALL_START", {"toolCallId": id, "toolCallName": "lookup"}
        for piece in halves(arguments):
            yield "TOOL_CALL_ARGS", {"toolCallId": id, "delta": piece}
        yield "TOOL_CALL_END", {"toolCallId": id}
    for id in ids:
        yield "TOOL_CALL_RESULT", {"toolCallId": id, "messageId": str(uuid.uuid4()), "content": '{"found": true}'}
    yield from message(["That is what I found."])


def fail_after(pieces, words):
    yield from pieces
    raise Failure("RUN_FAILED", words)


# What is told of them.


def events(handler, id):
    thread, run = thread_of(handler, id), run_id(handler)
    limit = handler.query.get("idle_limit", "300")
    want(limit.isascii() and limit.isdigit() and 1 <= int(limit) <= 3600, "idle_limit is not from 1 to 3600")
    start = cursor(handler, id, thread)
    with moved:
        if streams[thread.owner] >= STREAMS:
            refuse(429, "AGENT_SSE_CONNECTION_LIMIT", "that is one stream too many")
        streams[thread.owner] += 1
    try:
        handler.stream(follow(thread, id, run, start, int(limit)), whole=handler.broken != "cut-body")
    finally:
        with moved:
            streams[thread.owner] -= 1


def cursor(handler, id, thread):
    """The place of the first event that is to be told."""
    given = handler.headers.get("Last-Event-ID")
    if not given or handler.broken == "deaf-to-cursor" and "%" not in given:
        return 0
    head, _, place = given.rpartition(":")
    good = head == id and place.isascii() and place.isdigit() and int(place) < len(thread.events)
    want(good, "Last-Event-ID is none that was handed out", "AGENT_INVALID_LAST_EVENT_ID")
    return int(place) + 1


def follow(thread, id, run, place, limit):
    """The frames of a run from a place on, until it ends or was silent for too long."""
    silent = 0
    while silent < limit:
        with moved:
            moved.wait_for(lambda: len(thread.events) > place, POLL)  # that other threads go on ends no silence
            news = thread.events[place:]
        told = False
        for event in news:
            place += 1
            if event["runId"] != run:
                continue
            told = True
            data = json.dumps({**event, "threadId": id})
            yield "id: %s:%d\nevent: %s\ndata: %s\n\n" % (id, place - 1, event["type"], data)
            if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                return
        if told:
            silent = 0
        elif not news:
            silent += 1
            yield ": keep-alive\n\n"


def history(handler):
    user, id, before = user_of(handler), handler.query.get("threadId"), handler.query.get("before")
    try:
        before = before and datetime.date.fromisoformat(before).isoformat()
    except ValueError:
        refuse(422, "AGENT_INVALID_DAY", "before is no day")
    with moved:
        if id is None:
            id = next((t for t in reversed(threads) if threads[t].owner == user), None)
        messages = list(thread_of(handler, id).messages) if id is not None else []
    days = sorted({m["timestamp"][:10] for m in messages if not before or m["timestamp"][:10] < before})
    day = days[-1] if days else None
    page = [m for m in messages if m["timestamp"][:10] == day]
    handler.reply(200, {"scope": "history_day", "threadId": id, "day": day, "hasMore": len(days) > 1, "messages": page})


class Runs(Handler):
    base = "/api/v1/agent"
    routes = {
        ("POST", base + "/runs"): create,
        ("GET", base + "/runs/{}/events"): events,
        ("POST", base + "/runs/{}/cancel"): cancel,
        ("GET", base + "/history"): history,
    }

    def refusal(self, status, text):
        return problem(status, "AGENT_REFUSED", text)


main(Runs, BREAKAGES, VARIANTS)
