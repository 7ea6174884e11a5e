// What clients make of faults, and of streams that are told in other legal ways. What is
// seen is what docs/clients.md says; UPDATE=1 renews it.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { clients, startAll } from "./clients.mjs";
import { catalogue, prompt, seeds } from "./faults/catalogue.mjs";
import { promise, said, why } from "./faults/said.mjs";
import { render } from "./faults/table.mjs";
import { outcome, told, words } from "./outcome.mjs";
import { read } from "./run.mjs";
import { mock } from "./serve.mjs";

const outcomes = new URL("faults/outcomes.json", import.meta.url);
const table = new URL("../docs/clients.md", import.meta.url);
const pace = { "X-Mock-Pace": "{rate: 50}" };
// Before a cut there is silence for a while: clients may lose what they have not looked at
// when a connection breaks, so what is before the cut has to be read by then.
const silence = "stall; event=5; for=500ms";
const cuts = /^(clean-end|abort|reset|torn|torn-utf8|cursor-missing)\b/;
const events = told(8);

// Each client has a mock of its own, so that all ask for the same.
const servers = {};
let started;
before(async () => {
  const all = clients.filter((c) => !c.missing).map(async ({ id }) => { servers[id] = await mock(); });
  [started] = await Promise.all([startAll(), ...all]);
});
after(async () => {
  await started?.close();
  await Promise.all(Object.values(servers).map((s) => s.close()));
});

// Reads wait more than they work: some are under way at once, of each client.
const atOnce = 8;
function queue() {
  let free = atOnce;
  const waiting = [];
  return async (act) => {
    if (free > 0) free--;
    else await new Promise((go) => waiting.push(go));
    try {
      return await act();
    } finally {
      if (waiting.length > 0) waiting.shift()();
      else free++;
    }
  };
}

const seen = {};
describe("clients", { concurrency: true }, () => {
  for (const { id, name, missing } of clients) {
    if (missing) console.error(`NOT RUN: ${missing}: ${name} was not looked at`);
    describe(name, { skip: missing, concurrency: true }, () => {
      const inTurn = queue();
      const own = seen[id] = { faults: {}, vary: {} };
      const client = () => started.clients.find((c) => c.id === id);
      for (const fault of catalogue) {
        test(`${name}: ${fault.name}`, () => inTurn(() => faulty(client(), fault, own)));
      }
      for (const seed of seeds) {
        test(`${name}: --vary ${seed}`, () => inTurn(() => varied(client(), seed, own)));
      }
    });
  }
});

async function faulty(client, fault, own) {
  const got = await read(servers[client.id], client, {
    name: fault.name,
    prompt,
    run: { ...pace, ...(fault.run ? { "X-Mock-Fault": cuts.test(fault.run) ? `${fault.run}, ${silence}` : fault.run } : {}) },
    first: fault.stream ? { "X-Mock-Fault": fault.stream } : {},
  });
  const o = outcome(got, events);
  own.faults[fault.name] = words(o);
  // The mock did what it was told: its journal says so.
  const struck = new Set(got.faults.map((f) => f.name.split(";")[0]));
  for (const use of (fault.run ?? fault.stream ?? "").split(",").map((u) => u.trim().split(";")[0])) {
    if (use && !(use.startsWith("resume-") && o.again === 0)) assert.ok(struck.has(use), `${use} did not strike: ${[...struck]}`);
  }
  const { holds, says } = promise(client.id, fault);
  const otherwise = said[client.id].otherwise?.[fault.name];
  if (holds) assert.equal(holds(o), !otherwise, `it says: ${says}${otherwise ? ` (known: ${otherwise})` : ""}; what it did: ${words(o)}`);
}

// Whoever can read a stream at all reads the same, however it is told.
async function varied(client, seed, own) {
  const got = await read(servers[client.id], client, { name: `vary ${seed}`, prompt, run: pace, every: { "X-Mock-Vary": String(seed) } });
  const heard = words(outcome({ ...got, events: got.events.filter(known) }, events));
  if (heard === "all") return;
  own.vary[seed] = heard;
  assert.ok(why(client.id, heard), `it does not read this, and faults/said.mjs does not say why: ${heard}`);
}

// known tells events that the protocol has from those that it allows besides: a client of
// events alone hands all on.
function known({ data }) {
  try {
    return new Set(events).has(JSON.parse(data).type) || JSON.parse(data).type === "TEXT_MESSAGE_CONTENT";
  } catch {
    return true;
  }
}

after(() => {
  const committed = JSON.parse(readFileSync(outcomes, "utf8"));
  const now = Object.fromEntries(clients.map((c) => [c.id, c.missing ? committed[c.id] : sorted(seen[c.id])]));
  if (process.env.UPDATE) {
    writeFileSync(outcomes, `${JSON.stringify(now, null, 1)}\n`);
    writeFileSync(table, render(now));
    return;
  }
  assert.deepEqual(now, committed, "what clients do has changed: look at it, and renew faults/outcomes.json and docs/clients.md with npm run table");
  assert.equal(readFileSync(table, "utf8"), render(committed), "docs/clients.md is not what faults/outcomes.json says: npm run table");
});

// sorted is in the order of the catalogue, whichever came first.
function sorted({ faults, vary }) {
  return {
    faults: Object.fromEntries(catalogue.filter((f) => f.name in faults).map((f) => [f.name, faults[f.name]])),
    vary,
  };
}
