// The page is made by the server. What is here fetches it again when something happened,
// puts what is new in its place, and sends what the buttons say. Inputs, and what has the
// focus, stay as they are: only what is marked data-live is replaced.
"use strict";

const said = document.getElementById("said");
const feedState = document.getElementById("feed");

function say(text, bad) {
  said.textContent = text;
  said.className = bad ? "bad" : "";
}

// sync makes a list have the children that it has now: they are told apart by their ids.
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
    ours.innerHTML = part.innerHTML; // escaped by the server, from which this page came
    if (ours.tagName === "OL") {
      ours.start = part.start;
      ours.scrollTop = ours.scrollHeight;
    }
  }
}

let busy = false;
let again = false;

// refresh fetches the page, once at a time, and once more if asked meanwhile.
async function refresh() {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    const response = await fetch(location.href, { cache: "no-store" });
    if (response.ok) update(new DOMParser().parseFromString(await response.text(), "text/html"));
    else if (response.status === 404) say("It is no longer kept.", true);
  } catch {
    feedState.textContent = "not live: the mock does not answer";
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
    say("The mock does not answer.", true);
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
    // A form has CRLF where the text has a line feed.
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

// What waits makes no note: who looks at open streams looks again.
setInterval(() => {
  if (!document.hidden && document.querySelector("article")) soon();
}, 2000);
