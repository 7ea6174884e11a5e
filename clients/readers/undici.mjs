// undici: its fetch, with eventsource-parser to read what comes; and its EventSource.
import { Agent, EventSource, fetch } from "undici";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { source } from "./source.mjs";
import { Watch } from "../run.mjs";

// read asks once: fetch does not come back.
export async function read({ url, first, every, patience }) {
  const events = [];
  const away = new AbortController();
  const watch = new Watch(patience, () => away.abort());
  try {
    const answer = await fetch(url, { headers: { ...first, ...every, Accept: "text/event-stream" }, signal: away.signal });
    if (answer.status !== 200) return { events, end: "error", error: `status ${answer.status}` };
    for await (const event of answer.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())) {
      watch.heard();
      events.push({ id: event.id, data: event.data });
    }
    return { events, end: "ends" };
  } catch (error) {
    if (away.signal.aborted) return { events, end: "waits" };
    return { events, end: "error", error: `${error.name}: ${error.message}` };
  } finally {
    watch.over();
  }
}

// readSource reads with the EventSource of undici. Its requests are given headers as its
// documentation has it: by an Agent.
export function readSource({ url, first, every, patience }) {
  let asks = 0;
  class Headed extends Agent {
    dispatch(options, handler) {
      return super.dispatch({ ...options, headers: { ...options.headers, ...(asks++ === 0 ? first : {}), ...every } }, handler);
    }
  }
  const dispatcher = new Headed();
  return source(new EventSource(url, { node: { dispatcher } }), { patience }).finally(() => dispatcher.destroy());
}
