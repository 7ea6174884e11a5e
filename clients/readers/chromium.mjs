// The EventSource of a Chromium, in a page of its own.
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { chromium } from "playwright-core";
import { mostAsks, types } from "./source.mjs";

const path = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const missing = existsSync(path) ? false : "chromium is not installed (Debian: apt-get install chromium)";

export const launch = () => chromium.launch({
  executablePath: path,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

// pages are few: each is a process. A browser has six connections for a host in a context.
const pages = 4;

// open starts a browser; read asks in one of its pages.
export async function open() {
  const browser = await launch();
  const home = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end("<!doctype html><title>page</title>"));
  home.listen(0, "127.0.0.1");
  await once(home, "listening");
  const tabs = await Promise.all(Array.from({ length: pages }, async () => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`http://127.0.0.1:${home.address().port}/`);
    return page;
  }));
  let turn = 0;
  return {
    read: (ask) => read(tabs[turn++ % pages], ask),
    async close() {
      await browser.close();
      home.close();
    },
  };
}

async function read(page, { url, first, every, patience }) {
  let asks = 0;
  await page.route(url, async (route) => {
    await route.continue({ headers: { ...route.request().headers(), ...(asks++ === 0 ? first : {}), ...every } });
  });
  const read = await page.evaluate(listen, { url, types, patience, mostAsks });
  await page.unroute(url);
  return read;
}

// listen runs in the page.
function listen({ url, types, patience, mostAsks }) {
  return new Promise((done) => {
    const events = [];
    const source = new EventSource(url);
    let timer, failed = 0;
    const finish = (end, error) => {
      clearTimeout(timer);
      source.close();
      done({ events, end, error });
    };
    const watch = () => {
      clearTimeout(timer);
      timer = setTimeout(() => finish("waits"), patience);
    };
    watch();
    for (const type of types) {
      source.addEventListener(type, (event) => {
        watch();
        events.push({ id: event.lastEventId, data: event.data });
      });
    }
    source.onopen = watch;
    source.onerror = () => {
      watch();
      if (source.readyState === EventSource.CLOSED) finish("error", "closed");
      else if (++failed >= mostAsks) finish("endless");
    };
  });
}
