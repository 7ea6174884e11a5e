// The clients: where each is documented, and how it reads.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mkdtemp, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as chromium from "./readers/chromium.mjs";
import * as eventsource from "./readers/eventsource.mjs";
import * as undici from "./readers/undici.mjs";
import { missing as noPython, python } from "./readers/python.mjs";
import { start } from "./readers/process.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const npm = (name) => JSON.parse(readFileSync(here("package.json"), "utf8")).devDependencies[name];
const pip = (name) => new RegExp(`^${name}==(\\S+)`, "m").exec(readFileSync(here("requirements.txt"), "utf8"))[1];
const gomod = (name) => new RegExp(`${name} v(\\S+)`).exec(readFileSync(here("gosse/go.mod"), "utf8"))[1];

// The order is that of the table. patience is how long a client may hear nothing until it
// is said to wait: longer than any timeout of its own, and than the 3 seconds after which
// an EventSource comes back.
export const clients = [
  { id: "agui", name: "@ag-ui/client", version: npm("@ag-ui/client"), patience: 8000, helper: "node", opens: true },
  { id: "undici", name: "undici fetch", version: npm("undici"), patience: 8000, read: undici.read },
  { id: "undici-source", name: "undici EventSource", version: npm("undici"), patience: 8000, read: undici.readSource },
  { id: "eventsource", name: "eventsource", version: npm("eventsource"), patience: 8000, read: eventsource.read },
  { id: "chromium", name: "EventSource of Chromium", patience: 8000, missing: chromium.missing, helper: "chromium" },
  { id: "httpx-sse", name: "httpx-sse", version: pip("httpx-sse"), patience: 10000, missing: noPython, helper: "python", kind: "once" },
  { id: "httpx-sse-again", name: "httpx-sse, its recipe", version: pip("httpx-sse"), patience: 10000, missing: noPython, helper: "python", kind: "again" },
  { id: "go-sse", name: "go-sse", version: gomod("github.com/tmaxmax/go-sse"), patience: 8000, helper: "go", kind: "again" },
  { id: "go-sse-once", name: "go-sse, no retries", version: gomod("github.com/tmaxmax/go-sse"), patience: 8000, helper: "go", kind: "once" },
];

// helpers are started once, for all who need them.
const helpers = {
  async chromium() {
    const browser = await chromium.open();
    return { read: () => browser.read, close: browser.close };
  },
  async node() {
    return start(process.execPath, [here("readers/read_agui.mjs")]);
  },
  async python() {
    return start(await python(), [here("readers/read_httpx.py")]);
  },
  async go() {
    const dir = await mkdtemp(join(tmpdir(), "gosse-"));
    await promisify(execFile)("go", ["build", "-o", join(dir, "gosse"), "."], { cwd: here("gosse") });
    const child = start(join(dir, "gosse"), []);
    return { ...child, close: async () => { child.close(); await rm(dir, { recursive: true, force: true }); } };
  },
};

// startAll makes every client that can be ready to read, and says of others that they cannot.
export async function startAll() {
  const started = {};
  const names = new Set(clients.filter((c) => !c.missing && c.helper).map((c) => c.helper));
  await Promise.all([...names].map(async (name) => { started[name] = await helpers[name](); }));
  return {
    clients: clients.map((c) => ({ ...c, read: c.read ?? (c.missing ? undefined : started[c.helper].read(c.kind)) })),
    close: () => Promise.all(Object.values(started).map((h) => h.close())),
  };
}
