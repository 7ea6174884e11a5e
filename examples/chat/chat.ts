// A chat page: it asks for a run, shows what it is told, and when the line is cut it goes
// on where it was.

type Event =
  | { type: "TEXT_MESSAGE_START" | "TEXT_MESSAGE_END"; messageId: string }
  | { type: "TEXT_MESSAGE_CONTENT"; messageId: string; delta: string }
  | { type: "TOOL_CALL_START"; toolCallId: string; toolCallName: string }
  | { type: "TOOL_CALL_ARGS"; toolCallId: string; delta: string }
  | { type: "TOOL_CALL_RESULT"; toolCallId: string; content: string }
  | { type: "RUN_ERROR"; message: string }
  | { type: "RUN_STARTED" | "RUN_FINISHED" | "TOOL_CALL_END" };

interface Frame { id?: string; data: string }

const server = new URLSearchParams(location.search).get("server") ?? "http://127.0.0.1:4010/api/v1/agent";
const threadId = crypto.randomUUID();
const headers = { Authorization: "Bearer ada" };

const log = document.querySelector("#log")!;
const state = document.querySelector("#state")!;
const form = document.querySelector("form")!;

form.addEventListener("submit", async (submitted) => {
  submitted.preventDefault();
  const text = String(new FormData(form).get("text"));
  form.reset();
  say("user", text);
  try {
    await run(text);
    state.textContent = "ready";
  } catch (error) {
    say("error", (error as Error).message);
    state.textContent = "failed";
  }
});

// run asks, and shows the answer until it has ended.
async function run(text: string) {
  state.textContent = "asking";
  const runId = crypto.randomUUID();
  const accepted = await fetch(`${server}/runs`, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify({
      threadId, runId, messages: [{ id: crypto.randomUUID(), role: "user", content: text }],
      forwardedProps: { runtime_mode: "chat" },
    }),
  });
  if (!accepted.ok) throw new Error(`refused: ${accepted.status}`);
  const show = screen();
  for await (const event of events(`${server}/runs/${threadId}/events?runId=${runId}`)) show(event);
}

// events are those of a run, each once and to the end, in as many streams as it takes.
async function* events(url: string): AsyncGenerator<Event> {
  let cursor: string | undefined;
  for (let tries = 0; tries < 5; tries++) {
    try {
      const stream = await fetch(url, { headers: { ...headers, ...(cursor ? { "Last-Event-ID": cursor } : {}) } });
      if (stream.status >= 400 && stream.status < 500) throw new Refused(`refused: ${stream.status}`);
      if (!stream.ok || !stream.body) throw new Error(`status ${stream.status}`);
      for await (const frame of frames(stream.body)) {
        const event = JSON.parse(frame.data) as Event;
        yield event;
        cursor = frame.id ?? cursor;
        tries = 0; // it goes on
        if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") return;
      }
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
    // A stream that ends before its run does was cut, however politely.
    state.textContent = "coming back";
    await new Promise((done) => setTimeout(done, 200 * 2 ** tries));
  }
  throw new Error("the line is dead");
}

class Refused extends Error {}

// frames reads an event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html):
// lines end with CR LF, LF or CR, and a frame without its blank line is none.
async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  let frame: { id?: string; data: string[] } = { data: [] };
  for await (const line of lines(body)) {
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line)!;
    if (line === "") {
      if (frame.data.length > 0) yield { id: frame.id, data: frame.data.join("\n") };
      frame = { data: [] };
    } else if (name === "data") frame.data.push(value);
    else if (name === "id") frame.id = value;
  }
}

async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let afterCR = false; // an LF now is no second line end
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return; // what has no line end is half a line
    const text = afterCR && value.startsWith("\n") ? value.slice(1) : value;
    if (value !== "") afterCR = value.endsWith("\r");
    const parts = (rest + text).split(/\r\n|\n|\r/);
    rest = parts.pop()!;
    yield* parts;
  }
}

// screen shows events: messages and calls by their ids, as they grow.
function screen() {
  const shown = new Map<string, HTMLElement>();
  return (event: Event) => {
    state.textContent = "answering";
    switch (event.type) {
      case "TEXT_MESSAGE_START":
        shown.set(event.messageId, say("assistant", ""));
        break;
      case "TEXT_MESSAGE_CONTENT":
        shown.get(event.messageId)!.textContent += event.delta;
        break;
      case "TOOL_CALL_START":
        shown.set(event.toolCallId, say("tool", `${event.toolCallName} `));
        break;
      case "TOOL_CALL_ARGS":
        shown.get(event.toolCallId)!.textContent += event.delta;
        break;
      case "TOOL_CALL_RESULT":
        shown.get(event.toolCallId)!.textContent += ` → ${event.content}`;
        break;
      case "RUN_ERROR":
        throw new Error(event.message);
      // Whatever else there is, or will be, is not shown.
    }
  };
}

function say(who: string, text: string): HTMLElement {
  const line = document.createElement("div");
  line.className = who;
  line.textContent = text;
  log.append(line);
  return line;
}
