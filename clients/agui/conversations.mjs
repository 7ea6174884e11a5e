// Conversations of @ag-ui/client with servers of AG-UI 1.0: one for each test prompt. The client is
// used as it was published, with the URL of the endpoint.
import { randomUUID } from "node:crypto";
import { HttpAgent, buildResumeArray } from "@ag-ui/client";

const paint = { name: "paint", description: "Paints the page.", parameters: { type: "object", additionalProperties: true } };

// conversations maps names to the user messages of a conversation, each of which is one run. Calls of
// the client's tool and interrupts are answered in a further run.
export const conversations = {
  text: ["conformance:text Grüß Gott, 世界 🙂"],
  recall: ["what?", "conformance:recall"],
  empty: ["conformance:empty"],
  messages: ["conformance:messages"],
  reasoning: ["conformance:reasoning so it is"],
  tool: ['conformance:tool {"city":"Paris"}'],
  tools: ["conformance:tools"],
  "client-tool": ['conformance:client-tool {"color":"blue"}', "conformance:text after it"],
  interrupt: ['conformance:interrupt {"count":3}', "conformance:text after it"],
  many: ["conformance:many 300"],
  large: ["conformance:large 70000"],
  idle: ["conformance:idle 50"],
  error: ["conformance:error it broke"],
  "error-mid": ["conformance:error-mid it broke"],
};

const stray = new Set();
for (const event of ["unhandledRejection", "uncaughtException"]) process.on(event, (error) => stray.add(error));

// converse has one conversation. It returns the messages that the client has at the end, the types of
// the events that it took, what it warned of, and the first error: "" if there was none, "waits" if
// it received nothing for as many milliseconds as patience says.
export async function converse(url, name, { headers = {}, patience = 5000 } = {}) {
  const warnings = new Set();
  const log = { warn: console.warn, error: console.error };
  console.warn = console.error = (...words) => warnings.add(plain(words[0] instanceof Error ? words[0].message : words.join(" ")));
  const agent = new HttpAgent({ url, threadId: randomUUID(), headers });
  const types = [];
  let error = "";
  try {
    for (const text of conversations[name]) {
      agent.addMessage({ id: randomUUID(), role: "user", content: text });
      await run(agent, {}, types, patience);
      if (agent.pendingInterrupts.length > 0) {
        const answers = agent.pendingInterrupts.map((i) => [i.id, { status: "resolved", payload: { approved: true } }]);
        await run(agent, { resume: buildResumeArray(agent.pendingInterrupts, Object.fromEntries(answers)) }, types, patience);
      } else if (answerCalls(agent)) {
        await run(agent, {}, types, patience);
      }
    }
  } catch (thrown) {
    error = thrown.waits ? "waits" : plain(`${thrown.name}: ${thrown.message}`);
    await new Promise((done) => setTimeout(done, 20)); // some come twice, once where nobody can catch them
  } finally {
    Object.assign(console, log);
  }
  return { messages: agent.messages, state: agent.state, types, warnings: [...warnings].sort(), error };
}

// run lets the agent run once.
async function run(agent, parameters, types, patience) {
  let timer;
  const waits = new Promise((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error("waits"), { waits: true })), patience);
  });
  const running = agent.runAgent({ runId: randomUUID(), tools: [paint], ...parameters }, { onEvent: ({ event }) => { types.push(event.type); } });
  running.catch(() => {});
  try {
    await Promise.race([running, waits]);
  } finally {
    clearTimeout(timer);
    agent.abortRun();
  }
}

// answerCalls adds a result for each call of the client's tool that has none, and reports whether there
// were any.
function answerCalls(agent) {
  const answered = new Set(agent.messages.map((m) => m.toolCallId));
  const calls = agent.messages.flatMap((m) => m.toolCalls ?? []).filter((c) => c.function.name === paint.name && !answered.has(c.id));
  for (const c of calls) agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: c.id, content: "painted" });
  return calls.length > 0;
}

// plain is what a client says without what differs from run to run.
function plain(text) {
  return text.split("\n")[0].replaceAll(/(\w+-)?[0-9a-f]{8}-[0-9a-f-]{20,}\S*?(?=['"\s.,)]|$)/g, "ID").slice(0, 160).trim();
}
