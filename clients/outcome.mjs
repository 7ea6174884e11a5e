// What a client made of a stream, in words that are the same each time.

// told are the events of a run of `conformance:many N`, as short as they can be told apart.
export const told = (n) => ["RUN_STARTED", "TEXT_MESSAGE_START", ...Array.from({ length: n }, (_, i) => `${i + 1} `), "TEXT_MESSAGE_END", "RUN_FINISHED"];

const known = new Set([...told(0), "TEXT_MESSAGE_CONTENT"]);

// short is an event as `told` has it; what is none says so.
export function short({ data }) {
  let event;
  try {
    event = JSON.parse(data);
  } catch {
    return data === "" ? "empty" : "broken";
  }
  if (!known.has(event.type)) return "unknown";
  return event.delta ?? event.type;
}

// share says which events were heard, of those that were told.
export function share(heard, all) {
  if (heard.length === 0) return "nothing";
  const own = heard.filter((e) => all.includes(e));
  const first = own.filter((e, i) => own.indexOf(e) === i);
  const missing = all.filter((e) => !own.includes(e));
  const ordered = first.every((e, i) => i === 0 || all.indexOf(e) > all.indexOf(first[i - 1]));
  const cut = ordered && missing.length > 0 && all.slice(0, first.length).every((e, i) => e === first[i]);
  const said = [];
  if (missing.length === 0) said.push("all");
  else if (missing.length === 1) said.push(cut ? "all but the last" : "all but one");
  else said.push(cut ? "the beginning" : "not all");
  const more = own.length - first.length;
  if (more > 0) said.push(more === 1 ? "one twice" : "some twice");
  if (!ordered) said.push("out of order");
  for (const kind of ["broken", "unknown", "empty"]) {
    const n = heard.filter((e) => e === kind).length;
    if (n > 0) said.push(n === 1 ? `one ${kind}` : `some ${kind}`);
  }
  return said.join(", ");
}

// outcome is what a reader gave back, concluded. The last request of a client that comes
// back after every end is answered 204: that is not counted.
export function outcome(read, all) {
  const asks = read.asks.filter((ask) => ask.status !== 204);
  const whole = asks.length < read.asks.length;
  return {
    heard: share(read.events.map(short), all),
    end: whole ? "ends" : read.end,
    error: whole ? undefined : read.error,
    again: Math.max(asks.length - 1, 0),
    cursor: asks.slice(1).every((ask) => ask.cursor !== ""),
  };
}

// words are an outcome for people.
export function words(o) {
  const said = [o.heard];
  if (o.again > 0) said.push(o.cursor ? "comes back" : "comes back without a cursor");
  if (o.end === "error") said.push(`reports ${o.error}`);
  if (o.end === "waits") said.push("waits");
  if (o.end === "endless") said.push("does not stop coming back");
  if (o.end === "ends" && o.heard !== "all" && o.again === 0) said.push("no error");
  return said.join("; ");
}
