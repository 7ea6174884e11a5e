// @ag-ui/client accepts what the reference and the mock send in AG-UI 1.0.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { conversations, converse } from "./agui/conversations.mjs";
import { start } from "./serve.mjs";

let reference, mock;
before(async () => {
  reference = await start("serve", "--dialect", "agui@1.0");
  mock = await start("mock", "--dialect", "agui@1.0", "--seed", "1");
});
after(async () => {
  await reference?.close();
  await mock?.close();
});

const said = (outcome) => outcome.messages.filter((m) => m.role === "assistant" && m.content).map((m) => m.content);
const calls = (outcome) => outcome.messages.flatMap((m) => m.toolCalls ?? []).map((c) => [c.function.name, JSON.parse(c.function.arguments)]);

// wanted says of each conversation what has to come out of it.
const wanted = {
  text: (h) => assert.deepEqual(said(h), ["Grüß Gott, 世界 🙂"]),
  recall: (h) => assert.equal(said(h).at(-1), "what?"),
  empty: (h) => assert.deepEqual(said(h), []),
  messages: (h) => assert.deepEqual(said(h), ["one", "two"]),
  reasoning: (h) => {
    assert.equal(h.messages.find((m) => m.role === "reasoning")?.content, "thinking");
    assert.deepEqual(said(h), ["so it is"]);
  },
  tool: (h) => assert.deepEqual(calls(h), [["lookup", { city: "Paris" }]]),
  tools: (h) => {
    assert.deepEqual(calls(h), [["lookup", { n: 1 }], ["lookup", { n: 2 }]]);
    assert.equal(h.messages.filter((m) => m.role === "tool").length, 2);
  },
  "client-tool": (h) => {
    assert.deepEqual(calls(h), [["paint", { color: "blue" }]]);
    assert.deepEqual(said(h), ["tool said: painted", "after it"]);
  },
  interrupt: (h) => assert.deepEqual(said(h), ['resumed with: {"approved":true}', "after it"]),
  many: (h) => assert.equal(said(h)[0].trim().split(" ").length, 300),
  large: (h) => assert.ok(said(h)[0].length >= 70000),
  idle: (h) => assert.deepEqual(said(h), ["done"]),
  error: (h) => assert.match(h.error + h.types.join(" "), /it broke|RUN_ERROR/),
  "error-mid": (h) => assert.match(h.error + h.types.join(" "), /it broke|RUN_ERROR/),
};

async function accepts(server, name) {
  const outcome = await converse(server.base, name, { headers: { Authorization: "Bearer ann" } });
  if (!name.startsWith("error")) assert.equal(outcome.error, "");
  assert.deepEqual(outcome.warnings, []);
  wanted[name](outcome);
}

test("every conversation has an expectation", () => assert.deepEqual(Object.keys(wanted).sort(), Object.keys(conversations).sort()));

for (const name of Object.keys(conversations)) {
  test(`reference: ${name}`, () => accepts(reference, name));
  test(`mock: ${name}`, () => accepts(mock, name));
}
