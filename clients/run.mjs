// A run at the mock, and what there is to read of it.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";

// open starts a run of a thread, and gives back where it is told.
export async function open(base, { thread, prompt, headers = {} }) {
  const accepted = await fetch(`${base}/runs`, {
    method: "POST",
    headers: { Authorization: "Bearer ada", "Content-Type": "application/json", ...headers },
    body: JSON.stringify({
      threadId: thread, runId: "r1", messages: [{ id: "m1", role: "user", content: prompt }],
      forwardedProps: { runtime_mode: "chat" },
    }),
  });
  assert.equal(accepted.status, 202, await accepted.text());
  return `${base}/runs/${thread}/events?runId=r1&access_token=ada`;
}

// read lets a client hear a run, and gives back what it made of it; asks are the requests
// for the stream, as the mock had them, and faults what they suffered.
// name is what is tried: the same name is the same request, which is answered with the same bytes.
export async function read(server, client, { name, prompt, run = {}, first = {}, every = {} }) {
  const thread = uuid(name);
  const url = client.opens ? "" : await open(server.base, { thread, prompt, headers: { ...run, ...every } });
  const read = await client.read({ base: server.base, prompt, thread, run, url, first, every, patience: client.patience });
  const journal = await (await fetch(`${server.control}/v1/journal?thread=${thread}`)).json();
  const asks = journal.exchanges.filter((x) => x.op === "listen").map((x) => ({ cursor: field(x.request, "Last-Event-ID"), status: x.status }));
  return { ...read, asks, faults: journal.exchanges.flatMap((x) => x.faults ?? []) };
}

// uuid is an id that a name always has.
function uuid(name) {
  const hex = createHash("sha256").update(name).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const field = ({ header }, name) => header.find((f) => f.name.toLowerCase() === name.toLowerCase())?.value ?? "";

// A Watch says when nothing was heard for so long that nothing will be.
export class Watch {
  constructor(patience, act) {
    this.patience = patience;
    this.act = act;
    this.heard();
  }

  heard() {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.act, this.patience);
  }

  over() { clearTimeout(this.timer); }
}
