// The chat page of examples/chat, in a Chromium, against the mock and its script.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { context } from "esbuild";
import { launch, missing } from "./readers/chromium.mjs";
import { mock } from "./serve.mjs";

if (missing) console.error(`NOT RUN: ${missing}: the chat page was not looked at`);
const dir = fileURLToPath(new URL("../examples/chat", import.meta.url));

let server, site, page, browser;
before(async () => {
  if (missing) return;
  server = await mock(`${dir}/script.yaml`);
  site = await context({ entryPoints: [`${dir}/chat.ts`], outdir: dir, write: false, logLevel: "error" });
  const { port } = await site.serve({ servedir: dir, host: "127.0.0.1", port: 0 });
  page = `http://127.0.0.1:${port}/?server=${encodeURIComponent(server.base)}`;
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await site?.dispose();
  await server?.close();
});

// ask types a message into a new page, and gives back what stands there at the end.
async function ask(text, { run = {}, first = {}, every = {}, state = "ready" } = {}) {
  const tab = await browser.newPage();
  const problems = [];
  tab.on("pageerror", (error) => problems.push(error.message));
  try {
    await tab.goto(page);
    // Headers for the mock are put on at the edge of the browser: the page knows nothing of it.
    const streams = [];
    await tab.route(`${server.base}/**`, (route) => {
      const request = route.request();
      const own = request.method() === "POST" ? run : request.method() === "GET" && streams.push(request) === 1 ? first : {};
      return route.continue({ headers: { ...request.headers(), ...own, ...every } });
    });
    await tab.getByLabel("Message").fill(text);
    await tab.getByRole("button").click();
    await tab.waitForFunction((wanted) => document.querySelector("#state").textContent === wanted && document.querySelectorAll("#log > *").length > 1, state, { timeout: 20000 });
    assert.deepEqual(problems, []);
    const lines = await tab.locator("#log > *").evaluateAll((all) => all.map((e) => `${e.className}: ${e.textContent}`));
    const cursors = streams.map((request) => request.headers()["last-event-id"] ?? "");
    return { lines, cursors };
  } finally {
    await tab.close();
  }
}

describe("the chat page", { skip: missing, concurrency: 3 }, () => {
  test("a text", async () => {
    const { lines, cursors } = await ask("Grüß Gott, 世界 🙂");
    assert.deepEqual(lines, ["user: Grüß Gott, 世界 🙂", "assistant: You said: Grüß Gott, 世界 🙂"]);
    assert.deepEqual(cursors, [""]);
  });

  test("a tool call", async () => {
    const { lines } = await ask("the weather in Paris?");
    assert.deepEqual(lines, ["user: the weather in Paris?", 'tool: lookup {"city":"Paris"} → {"degrees":21}', "assistant: It is 21 degrees in Paris."]);
  });

  test("an error", async () => {
    const { lines } = await ask("luck?", { state: "failed" });
    assert.deepEqual(lines, ["user: luck?", "assistant: Let me see", "error: out of luck"]);
  });

  test("a cut stream goes on", async () => {
    const { lines, cursors } = await ask("a tunnel");
    assert.deepEqual(lines, ["user: a tunnel", "assistant: one two three four five six seven eight"]);
    assert.equal(cursors.length, 2);
    assert.notEqual(cursors[1], "");
  });

  test("a cut stream that cannot go on is told", async () => {
    const { lines } = await ask("a mountain", { state: "failed" });
    assert.equal(lines.at(-1), "error: refused: 422");
  });

  for (const fault of ["clean-end; event=4", "reset; event=4", "torn-utf8; event=4", "no-last-blank-line"]) {
    test(`whole in spite of ${fault}`, async () => {
      const { lines } = await ask("hello you", { run: { "X-Mock-Fault": fault } });
      assert.deepEqual(lines, ["user: hello you", "assistant: You said: hello you"]);
    });
  }

  test("whole in spite of a server that is busy for a moment", async () => {
    const { lines, cursors } = await ask("hello you", { first: { "X-Mock-Fault": "http-error; status=503" } });
    assert.deepEqual(lines, ["user: hello you", "assistant: You said: hello you"]);
    assert.equal(cursors.length, 2);
  });

  for (const seed of [4, 7, 16]) {
    test(`told in another way, by seed ${seed}`, async () => {
      const { lines } = await ask("the weather in Oslo?", { every: { "X-Mock-Vary": String(seed) } });
      assert.equal(lines.length, 3);
      assert.match(lines[1], /^tool: lookup \{\s*"city"\s*:\s*"Oslo"\s*\} → /);
      assert.equal(lines[2], "assistant: It is 21 degrees in Oslo.");
    });
  }
});
