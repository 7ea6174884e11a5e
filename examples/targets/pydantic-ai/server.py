"""An AG-UI server of pydantic-ai whose agent follows the test prompts (docs/prompts.md).

    python server.py [PORT]        serves POST http://127.0.0.1:PORT/agent; the port is 8000 if it is left out

To make a server of your own testable, copy this file, and put your application in place of the last lines. What makes it
testable is `reply`, the function in place of the model: it looks at the last user message and says what the prompt asks for.
"""
import asyncio
import json
import re
import sys
import uuid
from contextvars import ContextVar

import uvicorn
from ag_ui.core import StateDeltaEvent, StateSnapshotEvent
from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, RunContext, Tool, ToolReturn
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.routing import Route

request_body = ContextVar("request_body", default={})  # what the framework does not hand to the model


def parse(text):
    """Split a test prompt into its name and its argument. Any other text has neither."""
    prompt = re.fullmatch(r"conformance:([a-z-]+)(?: (.*))?", text, re.DOTALL)
    return (prompt[1], prompt[2] or "") if prompt else ("", "")


def deltas(text):
    """Cut a text in two, since a scripted server sends two deltas or more."""
    half = (len(text) + 1) // 2
    return [piece for piece in (text[:half], text[half:]) if piece]


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def user_texts(messages):
    """List the texts of the user messages of a conversation."""
    prompts = [part.content for message in messages for part in message.parts if part.part_kind == "user-prompt"]
    return [p if isinstance(p, str) else "".join(x for x in p if isinstance(x, str)) for p in prompts]


def after_tool(name, results):
    """Say what the answer is once tools have returned."""
    body = request_body.get()
    if name == "client-tool":  # the framework decodes results that are JSON; the prompt wants them as they were sent
        calls = [r.tool_call_id for r in results]
        said = [m["content"] for m in body["messages"] if m.get("toolCallId") in calls]
        return "tool said: " + "\n".join(s if isinstance(s, str) else "".join(part.get("text", "") for part in s) for s in said)
    if name == "interrupt":
        return "resumed with: " + compact(body["resume"][0].get("payload"))
    return "done"


def call(tool, arguments, index=0):
    """Make a call of a tool whose arguments come in two deltas."""
    yield {index: DeltaToolCall(tool, "", tool_call_id=f"call-{uuid.uuid4()}")}
    for piece in deltas(arguments):
        yield {index: DeltaToolCall(json_args=piece)}


async def reply(messages, info: AgentInfo):
    """The model: yield what the last user message asks for."""
    users = user_texts(messages)
    name, argument = parse(users[-1] if users else "")
    results = [part for part in messages[-1].parts if part.part_kind == "tool-return"]
    client_tools = [tool.name for tool in info.function_tools if tool.name not in own_tools]
    text = "Hello, world."
    if results:
        text = after_tool(name, results)
    elif name == "empty":
        yield {0: DeltaThinkingPart(content="")}
        return
    elif name == "reasoning":
        for piece in deltas("thinking"):
            yield {0: DeltaThinkingPart(content=piece)}
        text = argument
    elif name in ("tool", "interrupt", "state") or name == "client-tool" and client_tools:
        tool = {"tool": "lookup", "interrupt": "approve", "state": "show_state"}.get(name) or client_tools[0]
        for piece in call(tool, compact({"patches": argument}) if name == "state" else argument):
            yield piece
        return
    elif name == "tools":
        for index in (0, 1):
            for piece in call("lookup", compact({"n": index + 1}), index):
                yield piece
        return
    elif name in ("slow", "many"):
        count, pause, *_ = [int(n) for n in argument.split()] + [0]
        for n in range(count):
            await asyncio.sleep(pause / 1000 if n else 0)
            yield f"{n + 1} "
        return
    elif name == "large":
        yield "x" * int(argument)
        return
    elif name == "idle":
        await asyncio.sleep(int(argument) / 1000)
        text = "done"
    elif name == "error":
        raise RuntimeError(argument)
    elif name == "error-mid":
        for piece in deltas(text):
            yield piece
        raise RuntimeError(argument)
    elif name == "recall":
        text = users[-2] if len(users) > 1 else "nothing"
    elif name == "text":
        text = argument
    for piece in deltas(text):
        yield piece


async def lookup(**arguments):
    return "found"


async def approve(ctx: RunContext, **arguments):
    if not ctx.tool_call_approved:
        raise ApprovalRequired(metadata={"payload": arguments})
    return "approved"


async def show_state(patches):
    """Send the state of the request, and what the patches of the prompt make of it."""
    state = request_body.get().get("state")
    events = [StateSnapshotEvent(snapshot={} if state is None else state)]
    decoder, rest = json.JSONDecoder(), patches.strip()
    while rest:
        patch, end = decoder.raw_decode(rest)
        events.append(StateDeltaEvent(delta=patch))
        rest = rest[end:].strip()
    return ToolReturn("sent", metadata=events)


anything = {"type": "object", "additionalProperties": True}
own_tools = {
    "lookup": Tool.from_schema(lookup, "lookup", "Looks something up.", anything),
    "approve": Tool.from_schema(approve, "approve", "Asks the user for approval.", anything, takes_ctx=True),
    "show_state": Tool.from_schema(show_state, "show_state", "Shows the state.", anything),
}
agent = Agent(FunctionModel(stream_function=reply), output_type=[str, type(None), DeferredToolRequests], tools=list(own_tools.values()))


async def run_agent(request):
    try:
        request_body.set(json.loads(await request.body()))
    except ValueError:
        pass  # the adapter refuses it
    return await AGUIAdapter.dispatch_request(request, agent=agent)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    uvicorn.run(Starlette(routes=[Route("/agent", run_agent, methods=["POST"])]), host="127.0.0.1", port=port, access_log=False)
