// A test with node:test: the mock is started with a script, and a client is held to what
// it does when the line is cut. STREAMASSAY names the program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { after, before, test } from "node:test";

const script = `
rules:
  - when: {text: {contains: weather}}
    reply:
      - tool: {name: lookup, arguments: {city: Paris}, result: {degrees: 21}}
      - text: It is 21 degrees.
`;
const headers = { Authorization: "Bearer ada", "Content-Type": "application/json" };

let mock, base, control;
before(async () => {
  mock = spawn(process.env.STREAMASSAY ?? "streamassay", ["mock", "--dialect", "runs"], { stdio: ["ignore", "pipe", "inherit"] });
  // It prints its addresses when it is ready: NAME, spaces, URL. The pipe stays open, because a
  // program that writes to a closed one is ended.
  let said = "";
  mock.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  while (!/^control .*\n/m.test(said)) await once(mock.stdout, "data", { signal: AbortSignal.timeout(10_000) });
  base = /^runs@\S+ +(\S+)/m.exec(said)[1];
  control = /^control +(\S+)/m.exec(said)[1];
  const taken = await fetch(`${control}/v1/scripts?test=weather`, { method: "PUT", headers: { "Content-Type": "application/yaml" }, body: script });
  assert.ok(taken.ok, await taken.text());
});
after(async () => {
  mock.kill();
  await once(mock, "exit");
});

// ask is the client that is tested: it reads a run to its end.
async function ask(text, more) {
  const threadId = randomUUID();
  const run = await fetch(`${base}/runs`, {
    method: "POST",
    headers: { ...headers, ...more },
    body: JSON.stringify({ threadId, runId: "r1", messages: [{ id: "m1", role: "user", content: text }], forwardedProps: { runtime_mode: "chat" } }),
  });
  assert.equal(run.status, 202);
  const events = [];
  for (let cursor; !events.some((e) => e.type === "RUN_FINISHED");) {
    const stream = await fetch(`${base}/runs/${threadId}/events?runId=r1`, { headers: { ...headers, ...more, ...(cursor && { "Last-Event-ID": cursor }) } });
    for (const frame of (await stream.text()).split("\n\n").slice(0, -1)) {
      cursor = /^id: (.*)$/m.exec(frame)[1];
      events.push(JSON.parse(/^data: (.*)$/m.exec(frame)[1]));
    }
  }
  return { threadId, events };
}

test("what the tool says is told", async () => {
  const { events } = await ask("what is the weather?", { "X-Test-Id": "weather" });
  assert.equal(events.find((e) => e.type === "TOOL_CALL_RESULT").content, '{"degrees":21}');
  assert.equal(events.map((e) => (e.type === "TEXT_MESSAGE_CONTENT" ? e.delta : "")).join(""), "It is 21 degrees.");
});

test("a stream that ends early is taken up again", async () => {
  const { threadId, events } = await ask("conformance:many 8", { "X-Mock-Fault": "clean-end; event=3" });
  assert.equal(events.length, 12);
  // What was really asked stands in the journal of the mock.
  const { exchanges } = await (await fetch(`${control}/v1/journal?op=listen&thread=${threadId}`)).json();
  assert.deepEqual(exchanges.map((x) => x.events.length), [3, 3, 3, 3]);
});
