"""An AG-UI server of agno whose agent follows the test prompts (docs/prompts.md).

    python server.py [PORT]        serves POST http://127.0.0.1:PORT/agui; the port is 8000 if it is left out

To make a server of your own testable, copy this file, and put your application in place of the last lines. What makes it
testable is `reply`, which takes the place of the model: it looks at the last user message and says what the prompt asks for.
"""
import asyncio
import json
import re
import sys
import uuid

import jsonpatch
import uvicorn
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os.interfaces.agui import AGUI
from agno.run import RunContext
from agno.tools.function import Function
from fastapi import FastAPI


def parse(text):
    """Split a test prompt into its name and its argument. Any other text has neither."""
    prompt = re.fullmatch(r"conformance:([a-z-]+)(?: (.*))?", text, re.DOTALL)
    return (prompt[1], prompt[2] or "") if prompt else ("", "")


def deltas(text):
    """Cut a text in two, since a scripted server sends two deltas or more."""
    half = (len(text) + 1) // 2
    return [piece for piece in (text[:half], text[half:]) if piece]


def calls(*tools):
    """Make calls of tools, each given as its name and its arguments as JSON."""
    functions = [{"name": name, "arguments": arguments} for name, arguments in tools]
    return ModelResponse(tool_calls=[{"id": f"call-{uuid.uuid4()}", "type": "function", "function": f} for f in functions])


async def reply(messages, tools):
    """The model: yield what the last user message asks for."""
    # The framework appends the context of the request to the user message; the prompt is what stands before.
    users = [m.content.partition("\n\n<additional context>")[0] for m in messages if m.role == "user" and isinstance(m.content, str)]
    name, argument = parse(users[-1] if users else "")
    results = []
    for message in reversed(messages):
        if message.role != "tool":
            break
        results.insert(0, message.content)
    client_tools = [t["function"]["name"] for t in tools or [] if t["function"]["name"] not in own_tools]
    text = "Hello, world."
    if results:
        text = "tool said: " + "\n".join(results) if name == "client-tool" else "done"
    elif name == "empty":
        return
    elif name == "reasoning":
        for piece in deltas("thinking"):
            yield ModelResponse(reasoning_content=piece)
        text = argument
    elif name == "tool":
        yield calls(("lookup", argument))
        return
    elif name == "tools":
        yield calls(("lookup", '{"n":1}'), ("lookup", '{"n":2}'))
        return
    elif name == "client-tool" and client_tools:
        yield calls((client_tools[0], argument))
        return
    elif name == "state":
        yield calls(("set_state", json.dumps({"patches": argument})))
        return
    elif name in ("slow", "many"):
        count, pause, *_ = [int(n) for n in argument.split()] + [0]
        for n in range(count):
            await asyncio.sleep(pause / 1000 if n else 0)
            yield ModelResponse(content=f"{n + 1} ")
        return
    elif name == "large":
        yield ModelResponse(content="x" * int(argument))
        return
    elif name == "idle":
        await asyncio.sleep(int(argument) / 1000)
        text = "done"
    elif name == "error":
        raise RuntimeError(argument)
    elif name == "error-mid":
        for piece in deltas(text):
            yield ModelResponse(content=piece)
        raise RuntimeError(argument)
    elif name == "recall":
        text = users[-2] if len(users) > 1 else "nothing"
    elif name == "text":
        text = argument
    for piece in deltas(text):
        yield ModelResponse(content=piece)


class ScriptedModel(Model):
    """A model that says what `reply` yields."""

    def __init__(self):
        super().__init__(id="scripted", name="scripted", provider="scripted")

    async def ainvoke_stream(self, messages, tools=None, **kwargs):
        async for piece in reply(messages, tools):
            yield piece

    async def ainvoke(self, *args, **kwargs):
        raise NotImplementedError("AG-UI streams")

    invoke = invoke_stream = _parse_provider_response = _parse_provider_response_delta = ainvoke


async def lookup(**arguments):
    return "found"


async def set_state(run_context: RunContext, patches: str):
    """Apply the patches of the prompt to the state; the framework sends what has changed."""
    decoder, rest = json.JSONDecoder(), patches.strip()
    while rest:
        patch, end = decoder.raw_decode(rest)
        state = jsonpatch.apply_patch(run_context.session_state, patch)
        run_context.session_state.clear()
        run_context.session_state.update(state)
        rest = rest[end:].strip()
    return "set"


anything = {"type": "object", "properties": {}, "additionalProperties": True}
own_tools = {"lookup": lookup, "set_state": set_state}
agent = Agent(
    name="scripted",
    model=ScriptedModel(),
    db=InMemoryDb(),  # AG-UI needs one to go on after a call of a client's tool
    tools=[
        Function(name="lookup", description="Looks something up.", parameters=anything, entrypoint=lookup, skip_entrypoint_processing=True),
        set_state,
    ],
    add_history_to_context=True,
    num_history_runs=100,
    telemetry=False,
)

if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    app = FastAPI()
    app.include_router(AGUI(agent=agent).get_router())
    uvicorn.run(app, host="127.0.0.1", port=port, access_log=False)
