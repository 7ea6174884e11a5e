"""A small AG-Kit server, written from the page of the protocol.

As that page has it, a stream just ends: there is no [DONE].
"""

import json
import threading
import time
import uuid

from serving import Handler, Refused, halves, main

BREAKAGES = ["half-of-large", "quiet-failure", "runs-client-tool", "python-arguments", "one-history", "no-tool-end", "cut", "other-words"]
VARIANTS = ["busy", "kept-at-end", "waits"]


class Conversation:
    """What the server remembers of one conversationId: what the user said."""

    def __init__(self):
        self.said = []
        self.busy = False
        self.waits = None  # for what: "tool" is a result, "resume" an answer to an interrupt


conversations = {}
lock = threading.Lock()


def want(ok, what):
    if not ok:
        raise Refused(422, {"detail": what})


def is_list_of_objects(value):
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def read(body):
    """The request, if it is one."""
    try:
        ask = json.loads(body)
    except ValueError:
        raise Refused(422, {"detail": "the body is not JSON"}) from None
    want(isinstance(ask, dict), "the body is no object")
    want(isinstance(ask.get("conversationId"), str), "conversationId is no string")
    for message in objects(ask, "messages"):
        check(message)
    for tool in objects(ask, "tools"):
        want(isinstance(tool.get("name"), str), "a tool has no name")
        want(isinstance(tool.get("description"), str), "a tool has no description")
        want("parameters" in tool, "a tool has no parameters")
    resume = ask.get("resume")
    want(resume is None or isinstance(resume, dict), "resume is no object")
    if resume is not None:
        want(isinstance(resume.get("interruptId"), str), "resume has no interruptId")
        want("payload" in resume, "resume has no payload")
    return ask


def objects(ask, name):
    value = ask.get(name)
    want(value is None or is_list_of_objects(value), name + " is no list of objects")
    return value or []


def check(message):
    """Refuses a message that is not one of the four."""
    role, content = message.get("role", "system"), message.get("content")
    want(role in ("system", "user", "assistant", "tool"), "nobody is called %r" % (role,))
    want(isinstance(content, str) or content is None and role == "assistant", "content is no string")
    if role == "tool":
        want(isinstance(message.get("toolCallId", message.get("tool_call_id")), str), "a result has no toolCallId")
    if role != "assistant":
        return
    want(isinstance(message.get("id", ""), str), "id is no string")
    for call in objects(message, "toolCalls"):
        function = call.get("function")
        want(isinstance(call.get("id"), str) and call.get("type", "function") == "function", "that is no tool call")
        want(isinstance(function, dict), "a tool call has no function")
        want(isinstance(function.get("name"), str), "a function has no name")
        want(isinstance(function.get("arguments"), str), "arguments are no string")


def text(content):
    return {"type": "text", "content": content}


def call(name, arguments, broken):
    """The frames of a tool call, and its id."""
    id = "call-" + uuid.uuid4().hex
    frames = [{"type": "tool-call-start", "toolCallId": id, "toolCallName": name}]
    if broken == "python-arguments":
        arguments = str(json.loads(arguments))
    frames += [{"type": "tool-call-args", "toolCallId": id, "delta": piece} for piece in halves(arguments)]
    if broken != "no-tool-end":
        frames.append({"type": "tool-call-end", "toolCallId": id})
    return id, frames


def answer(ask, said, broken):
    """The events that answer a request; said is what the user said before, this time last."""
    messages = ask.get("messages") or []
    if ask.get("resume"):
        yield text("resumed with: " + json.dumps(ask["resume"]["payload"], ensure_ascii=False, separators=(",", ":")))
        return
    if messages and messages[-1].get("role") == "tool":
        results = [m["content"] for m in messages if m.get("role") == "tool"]
        yield text("tool said: " + "\n".join(results))
        return
    if not messages or messages[-1].get("role") != "user":
        return
    prompt, _, words = messages[-1]["content"].partition(" ")
    if prompt == "conformance:text":
        yield from map(text, halves(words))
    elif prompt == "conformance:empty":
        return
    elif prompt == "conformance:recall":
        yield text(said[-2] if len(said) > 1 else "nothing")
    elif prompt == "conformance:client-tool" and ask.get("tools"):
        id, frames = call(ask["tools"][0]["name"], words, broken)
        yield from frames
        if broken == "runs-client-tool":
            yield {"type": "tool-result", "toolCallId": id, "result": "done"}
    elif prompt in ("conformance:tool", "conformance:tools"):
        yield from use_tool(2 if prompt == "conformance:tools" else 1, words or "{}", broken)
    elif prompt == "conformance:interrupt":
        yield {"type": "interrupt", "id": uuid.uuid4().hex, "reason": "approval", "payload": json.loads(words)}
    else:
        yield from talk(prompt, words, broken)


def use_tool(times, arguments, broken):
    """Calls the server's own tool."""
    for _ in range(times):
        id, frames = call("lookup", arguments, broken)
        yield from frames
        yield {"type": "tool-result", "toolCallId": id, "result": json.dumps({"found": True})}
    yield text("That is what I found.")


def talk(prompt, words, broken):
    """The answers in which it matters how, and when, something is said."""
    numbers = [int(word) for word in words.split() if word.isdigit()]
    if prompt == "conformance:slow" and len(numbers) == 2:
        for i in range(numbers[0]):
            if i > 0:
                time.sleep(numbers[1] / 1000)
            yield text("%d " % i)
    elif prompt == "conformance:many" and numbers:
        for i in range(numbers[0]):
            yield text("%d " % i)
    elif prompt == "conformance:large" and numbers:
        yield text("x" * (numbers[0] // 2 if broken == "half-of-large" else numbers[0]))
    elif prompt == "conformance:idle" and numbers:
        time.sleep(numbers[0] / 1000)
        yield text("done")
    elif prompt == "conformance:error":
        yield {"type": "error", "error": words}
    elif prompt == "conformance:error-mid":
        yield text("I was about ")
        yield text("to say")
        if broken != "quiet-failure":
            yield {"type": "error", "error": words}
    else:
        yield text("Hello, ")
        yield text("world.")


def send_message(handler):
    """Answers whatever the content type: the page does not say that another is refused."""
    ask = read(handler.body)
    name = "everyone" if handler.broken == "one-history" else ask["conversationId"]
    users = [m["content"] for m in ask.get("messages") or [] if m.get("role") == "user"]
    with lock:
        conversation = conversations.setdefault(name, Conversation())
        if conversation.busy:
            raise Refused(409, {"detail": "the conversation is busy"})
        if handler.variant == "waits" and conversation.waits not in (None, brings(ask)):
            raise Refused(400, {"detail": "the conversation waits for a " + conversation.waits})
        conversation.busy = handler.variant == "busy"
        conversation.waits = waits_for(users[-1].partition(" ")[0] if users else "", ask)
        said = conversation.said + users
        if handler.variant != "kept-at-end":
            conversation.said = said
    events = ended(answer(ask, said, handler.broken), conversation, users if handler.variant == "kept-at-end" else [])
    deliver(handler, ("data: %s\n\n" % json.dumps(spelled(event, handler.broken)) for event in events))


def ended(events, conversation, users):
    """The events; when they are over, and before the client can know, the conversation is free and keeps what is new."""
    failed = False
    for event in events:
        failed = failed or event["type"] == "error"
        yield event
    with lock:
        conversation.busy = False
        conversation.said += [] if failed else users


def brings(ask):
    """What a request brings that a conversation may wait for."""
    messages = ask.get("messages") or []
    return "resume" if ask.get("resume") else "tool" if messages and messages[-1].get("role") == "tool" else None


def waits_for(prompt, ask):
    """What a conversation waits for after such a prompt."""
    return {"conformance:interrupt": "resume", "conformance:client-tool": "tool" if ask.get("tools") else None}.get(prompt)


def spelled(event, broken):
    """The event, in words of its own if it is to break the protocol so."""
    if broken == "other-words" and event["type"] == "text":
        return {"type": "message", "text": event["content"]}
    return event


def deliver(handler, frames):
    """Sends the frames."""
    if handler.broken == "cut":
        return handler.cut(frames)
    handler.stream(frames)
    for _ in frames:  # a run that the client has left goes on
        pass


class AGKit(Handler):
    routes = {
        ("POST", "/send-message"): send_message,
        ("GET", "/healthz"): lambda handler: handler.reply(200, {"status": "healthy"}),
    }


main(AGKit, BREAKAGES, VARIANTS)
