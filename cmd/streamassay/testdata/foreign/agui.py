"""A small AG-UI server, written from the fact sheet of AG-UI 1.0."""

import json
import threading
import uuid

from serving import Handler, Refused, halves, main
from talking import Failure, talk

BREAKAGES = [
    "answers-frontend-tool", "crlf", "delta-before-state", "delta-of-nothing", "done", "empty-outcome", "end-twice", "error-twice",
    "forgets-resume", "late-start", "null-parent", "open-step", "other-run", "patch-without-value", "python-arguments",
    "recalls-first", "recalls-nothing", "resume-without-payload", "result-first", "rewords", "silent-end", "start-twice",
    "state-of-its-own", "step-of-other-name", "steps-crossed", "takes-anything",
]
VARIANTS = [
    "chunks", "keeps-finished", "keeps-state", "keeps-thread", "many-runs", "merges", "more-state", "plain", "renames", "reopened", "stateless", "steps",
]
ROLES = ("developer", "system", "user", "assistant", "tool", "reasoning", "activity")
MEDIA = ("image", "audio", "video", "document")

said = {}  # by thread and id of the message: what the user said
finished = {}  # threadId → the prompts of the runs that finished
runs = {}  # by thread: the number of runs whose state is kept
lock = threading.Lock()


def want(ok, what):
    if not ok:
        raise Refused(422, {"detail": what})


def read(body, broken):
    """The request, if it is one."""
    try:
        ask = json.loads(body)
    except ValueError:
        raise Refused(400, {"detail": "the body is not JSON"}) from None
    want(isinstance(ask, dict), "the body is no object")
    if broken == "takes-anything":
        ask.setdefault("threadId", "t")
    for name in ("threadId", "runId"):
        want(isinstance(ask.get(name), str), name + " is no string")
    for name in ("parentRunId", "protocolVersion"):
        want(isinstance(ask.get(name, ""), str), name + " is no string")
    want("messages" in ask, "there are no messages")
    for name in ("messages", "tools", "context", "resume"):
        want(isinstance(ask.setdefault(name, []), list), name + " is no list")
        want(all(isinstance(item, dict) for item in ask[name]), name + " has something else than objects")
    for message in ask["messages"]:
        check(message)
    for tool in ask["tools"]:
        want(isinstance(tool.get("name"), str) and isinstance(tool.get("description"), str), "a tool has no name or description")
    for entry in ask["context"]:
        want(isinstance(entry.get("description"), str) and isinstance(entry.get("value"), str), "that is no context")
    for entry in ask["resume"]:
        want(isinstance(entry.get("interruptId"), str), "an answer has no interruptId")
        want(entry.get("status") in ("resolved", "cancelled"), "an answer has no status")
    return ask


def check(message):
    """Refuses a message that is none."""
    role = message.get("role")
    want(isinstance(message.get("id"), str), "a message has no id")
    want(role in ROLES, "nobody is called %r" % (role,))
    want(isinstance(message.get("name", ""), str), "name is no string")
    if role in ("user", "tool"):
        content(message.get("content"))
    elif role in ("developer", "system", "reasoning"):
        want(isinstance(message.get("content"), str), "content is no string")
    elif role == "assistant":
        want(isinstance(message.get("content", ""), str), "content is no string")
    want(role != "tool" or isinstance(message.get("toolCallId"), str), "a result has no toolCallId")
    want(isinstance(message.get("error", ""), str) and isinstance(message.get("encryptedValue", ""), str), "that is no string")
    calls = message.get("toolCalls", [])
    want(isinstance(calls, list), "toolCalls is no list")
    for call in calls:
        want(isinstance(call, dict) and isinstance(call.get("id"), str) and call.get("type") == "function", "that is no call")
        function = call.get("function")
        want(isinstance(function, dict), "a call has no function")
        want(isinstance(function.get("name"), str) and isinstance(function.get("arguments"), str), "that is no function")


def content(value):
    """The text of a content, if it is one."""
    if isinstance(value, str):
        return value
    want(isinstance(value, list), "content is no text and no list")
    words = ""
    for part in value:
        want(isinstance(part, dict), "a part is no object")
        if part.get("type") == "text":
            want(isinstance(part.get("text"), str), "a part has no text")
            words += part["text"]
            continue
        want(part.get("type") in MEDIA, "no part is called %r" % (part.get("type"),))
        source = part.get("source")
        want(isinstance(source, dict) and source.get("type") in ("data", "url", "file"), "a part has no source")
        want(isinstance(source.get("value"), str), "a source has no value")
        want(isinstance(source.get("mimeType", "" if source["type"] != "data" else None), str), "a source has no mimeType")
    return words


def event(type, **members):
    return dict(type=type, **members)


class Answer:
    """The events of one run."""

    def __init__(self, ask, broken, variant):
        self.ask, self.broken, self.variant = ask, broken, variant
        self.outcome = None
        self.told = []  # id and text of each message

    def new(self):
        return uuid.uuid4().hex

    def message(self, part):
        """A message of the pieces of a text."""
        id, first = self.new(), True
        self.told.append([id, ""])
        start, end = event("TEXT_MESSAGE_START", messageId=id, role="assistant"), event("TEXT_MESSAGE_END", messageId=id)
        if self.variant == "chunks":
            for piece in part[1]:
                self.told[-1][1] += piece
                yield event("TEXT_MESSAGE_CHUNK", delta=piece, **({"messageId": id, "role": "assistant"} if first else {}))
                if first:
                    yield event("RAW", event=None)
                first = False
            return
        yield start
        if self.broken == "start-twice":
            yield start
        for piece in part[1]:
            self.told[-1][1] += piece
            yield event("TEXT_MESSAGE_CONTENT", messageId=id, delta=piece)
            if first and self.variant == "reopened":
                yield from (end, start)
            first = False
        yield end
        if self.broken == "end-twice":
            yield end

    def text(self, words):
        yield from self.message(("text", halves(words)))

    def calls(self, name, *arguments):
        """The events of tool calls that are open at once; returns their ids."""
        ids = [self.new() for _ in arguments]
        if self.variant == "chunks":
            for id, words in zip(ids, arguments):
                for i, piece in enumerate(halves(words)):
                    yield event("TOOL_CALL_CHUNK", delta=piece, **({"toolCallId": id, "toolCallName": name} if i == 0 else {}))
            return ids
        for id in ids:
            extra = {"parentMessageId": None} if self.broken == "null-parent" else {}
            yield event("TOOL_CALL_START", toolCallId=id, toolCallName=name, **extra)
        for id, words in zip(ids, arguments):
            words = str(json.loads(words)) if self.broken == "python-arguments" else words
            for piece in [""] + halves(words):
                yield event("TOOL_CALL_ARGS", toolCallId=id, delta=piece)
        if self.broken == "result-first":
            yield from self.results(ids)
        for id in ids:
            yield event("TOOL_CALL_END", toolCallId=id)
        return ids

    def results(self, ids):
        for id in ids:
            yield event("TOOL_CALL_RESULT", messageId=id, toolCallId=id, content='{"found":true}')

    def use_tool(self, *arguments):
        """Calls the server's own tool."""
        ids = yield from self.calls("lookup", *arguments)
        if self.broken != "result-first":
            yield from self.results(ids)
        yield from self.text("That is what I found.")

    def reason(self, words):
        id = self.new()
        yield event("REASONING_START", messageId=id)
        if self.variant == "chunks":
            yield event("REASONING_MESSAGE_CHUNK", messageId=id, delta="think")
            yield event("REASONING_MESSAGE_CHUNK", delta="ing")
        else:
            yield event("REASONING_MESSAGE_START", messageId=id, role="reasoning")
            for piece in halves("thinking"):
                yield event("REASONING_MESSAGE_CONTENT", messageId=id, delta=piece)
            yield event("REASONING_MESSAGE_END", messageId=id)
        yield event("REASONING_END", messageId=id)
        yield from self.text(words)

    def aside(self):
        """What may come anywhere in a run."""
        patch = {"op": "add", "path": "/a~1b", "value": None}
        if self.broken == "patch-without-value":
            del patch["value"]
        yield event("STEP_STARTED", stepName="plan", timestamp=1795226905356, rawEvent={"a": None}, metadata={})
        if self.variant == "keeps-state":
            yield from self.kept_state()
            return
        if self.broken == "delta-before-state":
            yield event("STATE_DELTA", delta=[{"op": "replace", "path": "/plan", "value": 1}])
        yield event("STATE_SNAPSHOT", snapshot={"n": 1})
        if self.broken == "delta-of-nothing":
            yield event("STATE_DELTA", delta=[{"op": "remove", "path": "/m"}])
        yield event("STATE_DELTA", delta=[patch, {"op": "replace", "path": "/n", "value": 2}, {"op": "move", "from": "/n", "path": "/m"}])
        yield event("CUSTOM", name="progress", value=None)
        yield event("RAW", event={"kind": "x"}, source="inside")
        yield event("ACTIVITY_SNAPSHOT", messageId="a1", activityType="PLAN", content={"steps": []}, replace=True)
        yield event("ACTIVITY_DELTA", messageId="a1", activityType="PLAN", patch=[{"op": "add", "path": "/steps/-", "value": "go"}])
        yield event("SUBAGENT_STARTED", subagentRunId="s1", name="helper")
        yield event("SUBAGENT_STARTED", subagentRunId="s2", name="helper")
        yield event("STEP_STARTED", stepName="plan", subagentRunId="s1")
        yield event("STEP_STARTED", stepName="plan", subagentRunId="s2")
        yield event("STATE_DELTA", delta=[{"op": "replace", "path": "/its/own", "value": 2}], subagentRunId="s1")
        yield event("STEP_FINISHED", stepName="plan", subagentRunId="s1")
        yield event("STEP_FINISHED", stepName="plan", subagentRunId="s2")
        yield event("SUBAGENT_FINISHED", subagentRunId="s2")
        yield event("SUBAGENT_FINISHED", subagentRunId="s1", result={"ok": True})
        yield event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="x", encryptedValue="AAAA")
        yield event("MESSAGES_SNAPSHOT", messages=self.ask["messages"])
        yield event("SOMETHING_NEW", value=1)
        if self.broken != "open-step":
            yield event("STEP_FINISHED", stepName="planning" if self.broken == "step-of-other-name" else "plan")

    def kept_state(self):
        """The state of the thread, which the first run tells, and what later ones change of it."""
        with lock:
            count = runs[self.ask["threadId"]] = runs.get(self.ask["threadId"], 0) + 1
        if count == 1:
            yield event("STATE_SNAPSHOT", snapshot={"runs": 1, "list": []})
        else:
            patch = [{"op": "test", "path": "/runs", "value": count - 1}, {"op": "replace", "path": "/runs", "value": count}]
            yield event("STATE_DELTA", delta=patch + [{"op": "add", "path": "/list/-", "value": None}])
        yield event("STEP_FINISHED", stepName="plan")

    def recap(self):
        """The messages of the conversation, as the server tells them at the end of a run."""
        answers = [{"id": id, "role": "assistant", "content": text} for id, text in self.told]
        if self.broken == "rewords":
            answers = [dict(answer, content=answer["content"] + " (edited)") for answer in answers]
        if self.variant == "merges":
            answers = [dict(answers[0], content="\n\n".join(text for _, text in self.told))] if answers else []
        elif self.variant == "renames":
            answers = [dict(answer, id=self.new(), content="Said: " + answer["content"]) for answer in answers]
            answers += [{"id": id, "role": "assistant", "content": ""} for id, _ in self.told]
        kept = self.ask["messages"][-1:] if self.variant == "merges" else self.ask["messages"]
        yield event("MESSAGES_SNAPSHOT", messages=kept + answers)

    def change_state(self, words):
        """The state of the request, and each patch of it."""
        state, decoder = self.ask.get("state"), json.JSONDecoder()
        state = {} if state is None else state
        if self.variant == "more-state" and isinstance(state, dict):
            state = {**state, "mode": {"ready": True}}
        yield event("STATE_SNAPSHOT", snapshot={"n": 1} if self.broken == "state-of-its-own" else state)
        while words.strip():
            patch, end = decoder.raw_decode(words.lstrip())
            words = words.lstrip()[end:]
            yield event("STATE_DELTA", delta=patch)
        yield from self.text("changed")

    def take_steps(self):
        names = ("one", "two")
        for name in names:
            yield event("STEP_STARTED", stepName=name)
            yield from self.text(name)
            if self.broken != "steps-crossed":
                yield event("STEP_FINISHED", stepName=name)
        if self.broken == "steps-crossed":
            yield from (event("STEP_FINISHED", stepName=name) for name in names)

    def agent(self, history):
        """What the agent does; history is what the user said, this time last."""
        ask = self.ask
        if ask["resume"] and self.broken != "forgets-resume":
            want(self.variant != "stateless" or ask["messages"], "there is nothing to resume")
            answer = None if self.broken == "resume-without-payload" else ask["resume"][-1].get("payload")
            payload = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
            yield from self.text("resumed with: " + payload)
            return
        last = ask["messages"][-1] if ask["messages"] else {}
        if last.get("role") == "tool":
            results = []
            for message in ask["messages"]:
                results = [] if message["role"] == "user" else results
                results += [content(message["content"])] if message["role"] == "tool" else []
            yield from self.text("tool said: " + "\n".join(results))
            return
        if last.get("role") != "user":
            return
        prompt, _, words = history[-1].partition(" ")
        if prompt == "conformance:text":
            yield from self.text(words)
        elif prompt == "conformance:empty":
            return
        elif prompt == "conformance:messages":
            yield from self.text("one")
            yield from self.text("two")
        elif prompt == "conformance:reasoning":
            yield from self.reason(words)
        elif prompt == "conformance:state" and self.variant not in ("plain", "keeps-state"):
            yield from self.change_state(words)
        elif prompt == "conformance:steps" and self.variant != "plain":
            yield from self.take_steps()
        elif prompt == "conformance:recall":
            if self.broken == "recalls-first":
                history = history[:1] + history[-1:]
            known = len(history) > 1 and self.broken != "recalls-nothing"
            yield from self.text(history[-2] if known else "nothing")
        elif prompt == "conformance:client-tool" and ask["tools"]:
            ids = yield from self.calls(ask["tools"][0]["name"], words)
            if self.broken == "answers-frontend-tool":
                yield from self.results(ids)
            self.outcome = {"type": "success", "pendingToolCallIds": ids}
        elif prompt == "conformance:tool":
            yield from self.use_tool(words)
        elif prompt == "conformance:tools":
            yield from self.use_tool('{"n":1}', '{"n":2}')
        elif prompt == "conformance:interrupt":
            interrupt = {"id": self.new(), "reason": "approval", "metadata": {"payload": json.loads(words)}}
            self.outcome = {"type": "interrupt", "interrupts": [] if self.broken == "empty-outcome" else [interrupt]}
        else:
            yield from talk(self, prompt, words)


def run(answer, history):
    """The events of the whole stream."""
    ids = {"threadId": answer.ask["threadId"], "runId": answer.ask["runId"]}
    if answer.broken == "other-run":
        ids["runId"] += "-1"
    if answer.broken != "late-start":
        yield event("RUN_STARTED", **ids, **({"protocolVersion": "1.0"} if answer.variant != "plain" else {}))
    if answer.variant != "plain":
        yield from answer.aside()
    try:
        for i, e in enumerate(answer.agent(history)):
            around = answer.variant == "steps" and e["type"] != "RAW"
            yield from [event("STEP_STARTED", stepName="answer")] if around else []
            yield e
            if i == 0 and answer.broken == "late-start":
                yield event("RUN_STARTED", **ids)
            yield from [event("STEP_FINISHED", stepName="answer")] if around else []
        if answer.variant != "plain":
            yield from answer.recap()
        if answer.broken == "silent-end":
            return
        yield event("RUN_FINISHED", **ids, **({"outcome": answer.outcome} if answer.outcome else {}))
        if answer.variant == "many-runs":
            yield event("RUN_STARTED", **ids)
            yield event("RUN_FINISHED", **ids)
    except Failure as failure:
        yield event("RUN_ERROR", message=str(failure))
        if answer.broken == "error-twice":
            yield event("RUN_ERROR", message="failed: " + str(failure), code="INTERNAL_ERROR")


def run_agent(handler):
    """Answers whatever the content type."""
    ask = read(handler.body, handler.broken)
    users = [content(m["content"]) for m in ask["messages"] if m["role"] == "user"]
    with lock:
        kept = said.setdefault(ask["threadId"], {})
        kept.update((m["id"], content(m["content"])) for m in ask["messages"] if m["role"] == "user")
        history = list(kept.values()) if handler.variant == "keeps-thread" else users
        if handler.variant == "keeps-finished":  # and reads only what is new at the end of the messages
            new = ask["messages"][-1:] if not ask.get("resume") else []
            new = [content(m["content"]) for m in new if m["role"] == "user"]
            history = finished.get(ask["threadId"], []) + new
    answer = Answer(ask, handler.broken, handler.variant)
    end = "\r\n" if handler.broken == "crlf" else "\n"
    frames = ("data: " + json.dumps(e) + end + end for e in keep_finished(run(answer, history), ask["threadId"], history))
    handler.stream(ended(frames, handler.broken))


def keep_finished(events, thread, history):
    for e in events:
        if e["type"] == "RUN_FINISHED":
            with lock:
                finished[thread] = history
        yield e


def ended(frames, broken):
    yield from frames
    if broken == "done":
        yield "data: [DONE]\n\n"


class AGUI(Handler):
    routes = {("POST", "/"): run_agent}


main(AGUI, BREAKAGES, VARIANTS)
