// The EventSource of a real browser: it comes back by itself after a cut, with the
// cursor, hears every event once, and is told when there is no more.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createServer as createHTTP } from "node:http";
import { connect, createServer as createTCP } from "node:net";
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";

const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const missing = existsSync(browserPath) ? false : "NOT RUN: chromium is not installed (Debian: apt-get install chromium): EventSource was not tested";
if (missing) console.error(missing);

// cutter passes connections on, and cuts every answer after so many bytes, some times.
async function cutter(port, bytes, times) {
  let cuts = 0;
  const server = createTCP((client) => {
    const target = connect(port, "127.0.0.1");
    let seen = 0;
    client.on("error", () => {});
    target.on("error", () => {});
    client.pipe(target);
    target.on("data", (data) => {
      client.write(data);
      seen += data.length;
      if (seen > bytes && cuts < times) {
        cuts++;
        client.destroy();
        target.destroy();
      }
    });
    target.on("end", () => client.end());
    client.on("close", () => target.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: server.address().port, cuts: () => cuts, close: () => server.close() };
}

test("EventSource resumes by itself", { skip: missing }, async () => {
  const server = await serve("--cors", "*", "--eventsource");
  const url = new URL(server.base);
  const proxy = await cutter(url.port, 8000, 2);
  const page = createHTTP((_, answer) => answer.setHeader("Content-Type", "text/html").end("<!doctype html><title>page</title>"));
  page.listen(0, "127.0.0.1");
  await once(page, "listening");
  const browser = await chromium.launch({
    executablePath: browserPath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  try {
    const threadId = randomUUID();
    const accepted = await fetch(`${server.base}/runs`, {
      method: "POST",
      headers: { Authorization: "Bearer ada", "Content-Type": "application/json" },
      body: JSON.stringify({
        threadId, runId: "r1", messages: [{ id: "m", role: "user", content: "conformance:slow 400 25" }],
        forwardedProps: { runtime_mode: "chat" },
      }),
    });
    assert.equal(accepted.status, 202);
    url.port = proxy.port;
    const tab = await browser.newPage();
    await tab.goto(`http://127.0.0.1:${page.address().port}/`);
    const received = await tab.evaluate((stream) => new Promise((done) => {
      const received = { deltas: [], ids: [], opened: 0, types: [] };
      const source = new EventSource(stream);
      source.onopen = () => received.opened++;
      const hear = (event) => {
        received.ids.push(event.lastEventId);
        received.types.push(event.type);
        if (event.type === "TEXT_MESSAGE_CONTENT") received.deltas.push(JSON.parse(event.data).delta);
      };
      for (const type of ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED", "RUN_ERROR"]) source.addEventListener(type, hear);
      // After the end the browser comes back once more; 204 lets it be.
      source.onerror = () => { if (source.readyState === EventSource.CLOSED) done(received); };
    }), `${url.href}/runs/${threadId}/events?runId=r1&access_token=ada`);
    assert.equal(received.deltas.join(""), Array.from({ length: 400 }, (_, i) => `${i + 1} `).join(""));
    assert.equal(new Set(received.ids).size, received.ids.length);
    assert.equal(received.types[0], "RUN_STARTED");
    assert.equal(received.types.at(-1), "RUN_FINISHED");
    assert.equal(proxy.cuts(), 2);
    assert.ok(received.opened >= 2, `${received.opened} connections`);
  } finally {
    await browser.close();
    page.close();
    proxy.close();
    await server.close();
  }
});
