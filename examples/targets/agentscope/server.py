"""A server of AgentScope Runtime whose agent follows the test prompts (docs/prompts.md).

    python server.py [PORT]        serves POST http://127.0.0.1:PORT/process; the port is 8000 if it is left out

To make a server of your own testable, copy this file, and put your application in place of the last lines. What makes it
testable is `reply`, which takes the place of the agent: it looks at the last user message and says what the prompt asks for.
"""
import asyncio
import json
import re
import sys
import uuid
from itertools import takewhile

import uvicorn
from agentscope.message import Msg
from agentscope_runtime.engine import AgentApp
from agentscope_runtime.engine.deployers.adapter.a2a import AgentCardWithRuntimeConfig
from agentscope_runtime.engine.schemas.agent_schemas import AgentRequest
from agentscope_runtime.engine.schemas.exception import AppBaseException

last_texts = {}  # the latest user text of each session, by user and session


def parse(text):
    """Split a test prompt into its name and its argument. Any other text has neither."""
    prompt = re.fullmatch(r"conformance:([a-z-]+)(?: (.*))?", text, re.DOTALL)
    return (prompt[1], prompt[2] or "") if prompt else ("", "")


def text_of(message):
    return "".join(getattr(content, "text", None) or "" for content in message.content or [])


def result_of(message):
    """Return the result of a tool that a message of the request brings, or None for any other message."""
    for content in message.content or []:
        data = getattr(content, "data", None)
        if isinstance(data, dict) and "output" in data:
            return data["output"] if isinstance(data["output"], str) else json.dumps(data["output"])
    return None


class Conversation:
    """What a request asks for: the name and the argument of its prompt, and what its answer depends on."""

    def __init__(self, request):
        messages = request.input or []
        results = [result_of(m) for m in messages]
        users = [text_of(m) for m, result in zip(messages, results) if (m.role or "user") == "user" and result is None]
        key = request.user_id, request.session_id
        self.before = users[-2] if len(users) > 1 else last_texts.get(key, "nothing")
        if users:
            last_texts[key] = users[-1]
        self.name, self.argument = parse(users[-1] if users else "")
        self.results = list(takewhile(lambda r: r is not None, reversed(results)))[::-1]
        tools = [t.get("function", t) if isinstance(t, dict) else t.function for t in request.tools or []]
        names = [t.get("name") if isinstance(t, dict) else getattr(t, "name", None) for t in tools]
        self.client_tools = [name for name in names if name]


def text(words):
    return {"type": "text", "text": words}


def call(name, arguments):
    return {"type": "tool_use", "id": f"call-{uuid.uuid4()}", "name": name, "input": arguments}


async def told(*blocks):
    """Tell a message of the assistant: the framework wants each time all that there is so far."""
    message = Msg("assistant", [], "assistant")
    for so_far in blocks:
        message.content = so_far
        yield message, False
    yield message, True


async def at_once(*blocks):
    """Tell a message with an image: the framework fails if it is told twice."""
    yield Msg("assistant", list(blocks), "assistant"), True


def growing(words):
    half = (len(words) + 1) // 2
    return [[text(words[:end])] for end in sorted({half, len(words)})]


async def with_tools(calls):
    """Call tools of the server: the calls, their results, and a message."""
    async for item in told([{**c, "input": {}} for c in calls], calls):
        yield item
    for c in calls:
        result = {"type": "tool_result", "id": c["id"], "name": c["name"], "output": [text("found")]}
        yield Msg("system", [result], "system"), True
    async for item in told(*growing("done")):
        yield item


async def counted(argument):
    """Count, with a pause between two deltas if the prompt has one."""
    count, pause, *_ = [int(n) for n in argument.split()] + [0]
    words, message = "", Msg("assistant", [], "assistant")
    for n in range(count):
        await asyncio.sleep(pause / 1000 if n else 0)
        words += f"{n + 1} "
        message.content = [text(words)]
        yield message, False
    yield message, True


async def reply(asked):
    """The agent: yield what the last user message asks for, as messages and whether each is complete."""
    name, argument = asked.name, asked.argument
    answer = told(*growing("Hello, world."))
    if asked.results:
        answer = told(*growing("tool said: " + "\n".join(asked.results)))
    elif name == "empty":
        return
    elif name == "messages":
        async for item in told(*growing("one")):
            yield item
        answer = told(*growing("two"))
    elif name == "contents":
        answer = at_once(text("see"), {"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/cat.png"}})
    elif name == "reasoning":
        thought = {"type": "thinking", "thinking": "thinking"}
        answer = told([{**thought, "thinking": "think"}], [thought], *([thought, *words] for words in growing(argument)))
    elif name == "tool":
        answer = with_tools([call("lookup", json.loads(argument))])
    elif name == "tools":
        answer = with_tools([call("lookup", {"n": 1}), call("lookup", {"n": 2})])
    elif name == "client-tool" and asked.client_tools:
        made = call(asked.client_tools[0], json.loads(argument))
        answer = told([{**made, "input": {}}], [made])
    elif name in ("slow", "many"):
        answer = counted(argument)
    elif name == "large":
        answer = told([text("x" * int(argument))])
    elif name == "idle":
        await asyncio.sleep(int(argument) / 1000)
        answer = told(*growing("done"))
    elif name in ("error", "error-mid"):
        if name == "error-mid":
            message = Msg("assistant", [], "assistant")
            for message.content in growing("Hello, world."):
                yield message, False
        raise AppBaseException(500, "SCRIPTED", argument)
    elif name == "recall":
        answer = told(*growing(asked.before))
    elif name == "text":
        answer = told(*growing(argument))
    async for item in answer:
        yield item


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    app = AgentApp(
        app_name="scripted", app_description="An agent that follows the test prompts.",
        a2a_config=AgentCardWithRuntimeConfig(host="127.0.0.1", port=port),
    )

    @app.query(framework="agentscope")
    async def query(self, msgs, request: AgentRequest = None, **kwargs):
        async for item in reply(Conversation(request)):
            yield item

    uvicorn.run(app, host="127.0.0.1", port=port, access_log=False)
