import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { agentOf } from "./agui.mjs";
import { serve } from "./serve.mjs";

let server;
before(async () => { server = await serve(); });
after(() => server.close());

// What the client does not know it takes out, and says so. That is how far the shapes
// of the two protocols differ: every event of a run names its run and thread here.
const removed = new Set();
console.warn = (text) => removed.add(/at '(.*)' on/.exec(text)?.[1] ?? text);
after(() => assert.deepEqual([...removed].sort(), ["/runId", "/threadId"]));

// ask lets an agent answer, and lists the types of the events that the client took.
async function ask(agent, text) {
  const types = [];
  agent.addMessage({ id: randomUUID(), role: "user", content: text });
  const { newMessages } = await agent.runAgent({ runId: randomUUID() }, { onEvent: ({ event }) => { types.push(event.type); } });
  return { types, newMessages };
}

test("a text", async () => {
  const agent = agentOf(server.base, "ada", randomUUID());
  const { types, newMessages } = await ask(agent, "conformance:text Grüß Gott, 世界 🙂");
  assert.equal(newMessages.length, 1);
  assert.equal(newMessages[0].role, "assistant");
  assert.equal(newMessages[0].content, "Grüß Gott, 世界 🙂");
  assert.equal(types[0], "RUN_STARTED");
  assert.equal(types.at(-1), "RUN_FINISHED");
});

test("a conversation", async () => {
  const agent = agentOf(server.base, "ada", randomUUID());
  await ask(agent, "what?");
  const { newMessages } = await ask(agent, "conformance:recall");
  assert.equal(newMessages[0].content, "what?");
});

test("calls of tools", async () => {
  const agent = agentOf(server.base, "ada", randomUUID());
  const { newMessages } = await ask(agent, "conformance:tools");
  const calls = newMessages.flatMap((m) => m.toolCalls ?? []);
  assert.deepEqual(calls.map((c) => c.function.name), ["lookup", "lookup"]);
  assert.deepEqual(calls.map((c) => JSON.parse(c.function.arguments)), [{ n: 1 }, { n: 2 }]);
  assert.deepEqual(newMessages.filter((m) => m.role === "tool").map((m) => m.toolCallId), calls.map((c) => c.id));
});

test("many deltas", async () => {
  const agent = agentOf(server.base, "ada", randomUUID());
  const { newMessages } = await ask(agent, "conformance:many 2000");
  assert.equal(newMessages[0].content.trim().split(" ").length, 2000);
});

test("a failure", async () => {
  const agent = agentOf(server.base, "ada", randomUUID());
  const { types } = await ask(agent, "conformance:error-mid it broke").catch((error) => ({ types: [String(error)] }));
  assert.match(types.join(" "), /RUN_ERROR|it broke/);
});

test("a refusal", async () => {
  const agent = agentOf(server.base, "ada", "no uuid");
  await assert.rejects(ask(agent, "hi"), /422/);
});
