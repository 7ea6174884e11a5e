// @ag-ui/client: its agent opens the run itself, and asks for the stream once. A job a
// line comes in, and what the client made of it goes out. It is a process of its own
// because errors come out of it that nobody can catch.
import { createInterface } from "node:readline";
import { agentOf } from "../agui.mjs";
import { Watch } from "../run.mjs";

console.warn = () => {}; // what it does not know it takes out, and says so: agui.test.mjs looks at that
console.error = () => {};

const stray = new Set();
process.on("unhandledRejection", (error) => stray.add(error));

async function read({ base, prompt, thread, run, first, every, patience }) {
  const events = [];
  const agent = agentOf(base, "ada", thread, { run: { ...run, ...every }, stream: { ...first, ...every } });
  agent.addMessage({ id: "m1", role: "user", content: prompt });
  let waited = false;
  const watch = new Watch(patience, () => { waited = true; agent.abortRun(); });
  try {
    await agent.runAgent({ runId: "r1" }, {
      onEvent: ({ event }) => {
        if (waited) return;
        watch.heard();
        events.push({ id: "", data: JSON.stringify(event) });
      },
    });
    return { events, end: waited ? "waits" : "ends" };
  } catch (error) {
    if (waited) return { events, end: "waits" };
    await new Promise((done) => setTimeout(done, 50));
    return { events, end: "error", error: firstLine(error) + (stray.has(error) ? ", and once more where nobody can catch it" : "") };
  } finally {
    watch.over();
  }
}

// firstLine is an error without what differs from run to run.
function firstLine(error) {
  if (error instanceof SyntaxError) return "SyntaxError"; // the rest is the engine's own words
  return `${error.name}: ${error.message}`.split("\n")[0].split(/[:,] (?:\{|"|position)/)[0].replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}\S*/g, "ID").slice(0, 120);
}

createInterface({ input: process.stdin }).on("line", async (line) => {
  const job = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ job: job.job, ...await read(job) })}\n`);
});
