// Reads to the end with any EventSource: until it is CLOSED, which it is when the answer
// is 204 or is no stream, until it is silent, or until it was back too often.
import { Watch } from "../run.mjs";

export const types = [
  "message", "RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED", "RUN_ERROR", "X_UNKNOWN",
];

// mostAsks is how often a client that comes back may ask, here: once and again is enough.
export const mostAsks = 4;

export function source(events, { patience }) {
  const heard = [];
  let failed = 0;
  return new Promise((done) => {
    const finish = (end, error) => {
      watch.over();
      events.close();
      done({ events: heard, end, error });
    };
    const watch = new Watch(patience, () => finish("waits"));
    for (const type of types) {
      events.addEventListener(type, (event) => {
        watch.heard();
        heard.push({ id: event.lastEventId, data: event.data });
      });
    }
    events.addEventListener("open", () => watch.heard());
    events.addEventListener("error", () => {
      watch.heard();
      if (events.readyState === events.CLOSED) finish("error", "closed");
      else if (++failed >= mostAsks) finish("endless");
    });
  });
}
