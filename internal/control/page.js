// The page is rendered by the server. This script fetches it again after each change,
// replaces the elements with a data-live attribute and sends the requests of the buttons.
// Inputs and the focused element are kept.
"use strict";

const said = document.getElementById("said");
const feedState = document.getElementById("feed");

function say(text, bad) {
  said.textContent = text;
  said.className = bad ? "bad" : "";
}

// sync removes and inserts children of a list so that it has the same ids as the fresh one.
function sync(list, fresh) {
  const wanted = new Set(Array.from(fresh.children, (child) => child.id));
  for (const child of Array.from(list.children)) {
    if (wanted.has(child.id)) continue;
    const focused = child.contains(document.activeElement);
    child.remove();
    if (focused) document.querySelector("h2[tabindex], h1")?.focus();
  }
  Array.from(fresh.children).forEach((child, i) => {
    if (list.children[i]?.id !== child.id) list.insertBefore(document.importNode(child, true), list.children[i] ?? null);
  });
}

function update(fresh) {
  for (const list of fresh.querySelectorAll("[data-list]")) {
    const ours = document.getElementById(list.id);
    if (ours) sync(ours, list);
  }
  for (const list of document.querySelectorAll("[data-list]")) {
    if (!fresh.getElementById(list.id)) list.replaceChildren();
  }
  const parts = new Map(Array.from(document.querySelectorAll("[data-live]"), (part) => [part.dataset.live, part]));
  for (const part of fresh.querySelectorAll("[data-live]")) {
    const ours = parts.get(part.dataset.live);
    if (!ours || ours.innerHTML === part.innerHTML) continue;
    ours.innerHTML = part.innerHTML; // escaped by the server
    if (ours.tagName === "OL") {
      ours.start = part.start;
      ours.scrollTop = ours.scrollHeight;
    }
  }
}

let busy = false;
let again = false;

// refresh fetches the page; a call during a fetch causes another one after it.
async function refresh() {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    const response = await fetch(location.href, { cache: "no-store" });
    if (response.ok) update(new DOMParser().parseFromString(await response.text(), "text/html"));
    else if (response.status === 404) say("This exchange is no longer in the journal.", true);
  } catch {
    feedState.textContent = "not live: the mock is not reachable";
  } finally {
    busy = false;
    if (again) {
      again = false;
      soon();
    }
  }
}

let timer = 0;

function soon() {
  if (!timer) timer = setTimeout(() => { timer = 0; refresh(); }, 100);
}

async function send(method, path, body) {
  try {
    const response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (response.ok) say("Done.", false);
    else say((await response.json()).detail ?? response.statusText, true);
  } catch {
    say("The mock is not reachable.", true);
  }
  refresh();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-do], button[data-all]");
  if (!button) return;
  if (button.dataset.all !== undefined) send("PATCH", "/v1/settings", { hold: button.dataset.all === "" ? null : Number(button.dataset.all) });
  else send("POST", `/v1/streams/${button.dataset.stream}/${button.dataset.do}`);
});

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-do]");
  if (!form) return;
  event.preventDefault();
  const fields = new FormData(form);
  const body = {};
  for (const [name, value] of fields) {
    // Forms submit line feeds as CRLF.
    if (value !== "") body[name] = name === "event" ? Number(value) : value.replaceAll("\r\n", "\n");
  }
  send("POST", `/v1/streams/${form.dataset.stream}/${form.dataset.do}`, body);
});

const feed = new EventSource("/v1/journal/feed");
feed.onopen = () => { feedState.textContent = "live"; refresh(); };
feed.onerror = () => { feedState.textContent = "not live"; };
feed.onmessage = soon;
addEventListener("pagehide", () => feed.close());
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// A held event causes no note, so pages with open streams are refreshed periodically.
setInterval(() => {
  if (!document.hidden && document.querySelector("article")) soon();
}, 2000);
