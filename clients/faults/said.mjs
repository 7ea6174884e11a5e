// What the documentation of each client promises, and where a client differs from it.
// A promise applies to some faults of the catalogue; holds reports whether an outcome keeps
// it. otherwise names the faults for which it is not kept: the test fails if one of them is
// kept, or if another is not.
const passed = (o) => o.end === "ends" && o.again === 0;
const all = (o) => passed(o) && o.heard === "all";
const recovers = (o) => o.end === "ends" && o.again > 0 && o.cursor && o.heard === "all";
const reports = (error) => (o) => o.end === "error" && error.test(o.error);
const refuses = (o) => o.end === "error" && o.heard === "nothing" && o.again === 0;
const waits = (o) => o.end === "waits";
const legal = ["whole", "legal", "size", "gzip"];

const standard = "https://html.spec.whatwg.org/multipage/server-sent-events.html";
const fetching = "https://fetch.spec.whatwg.org/#concept-body-consume-body";

// eventSource lists the requirements of the standard for every EventSource.
const eventSource = [
  { about: legal, says: "Events follow the grammar, however the bytes are split and however long they are", source: standard, holds: all },
  { about: ["cut", "short"], says: "At the end of the body, or after a network error, the client reconnects with Last-Event-ID", source: standard,
    holds: (o) => recovers(o) || o.heard === "all but the last" /* the server replied 204: there is nothing more */ },
  { about: ["unfinished"], says: "“If the file ends in the middle of an event, before the final empty line, the incomplete event is not dispatched”; the client reconnects and receives it", source: standard, holds: recovers },
  { about: ["stall"], says: "There is no timeout", source: standard, holds: waits },
  { about: ["refusal", "type"], says: "A status other than 200, or a media type other than text/event-stream, fails the connection: the client does not reconnect, with or without Retry-After", source: standard, holds: refuses },
  { about: ["garbage"], says: "Bytes are decoded as UTF-8; invalid sequences are replaced, without an error", source: standard, holds: (o) => passed(o) && o.heard === "all, one broken" },
  { about: ["json", "order", "lifecycle", "unknown"], says: "Data is text and not interpreted", source: standard, holds: passed },
  { about: ["resume-lost", "resume-repeated", "resume-from-start", "cursor-missing"], says: "The server decides where the stream continues: events that it omits are lost, events that it repeats are received twice", source: standard,
    holds: (o) => o.again > 0 && o.heard !== "all" && o.end !== "error" },
  { about: ["resume-expired"], says: "A refused request fails the connection", source: standard, holds: (o) => o.again === 1 && reports(/closed/)(o) },
];

const goSSE = "https://github.com/tmaxmax/go-sse/blob/v0.11.0/README.md";
const goClient = "https://pkg.go.dev/github.com/tmaxmax/go-sse@v0.11.0#Client";
const goBoth = [
  { about: ["whole", "legal", "gzip"], says: "“Lightweight, fully spec-compliant”", source: goSSE, holds: all },
  { about: ["refusal", "type"], says: "The default validator requires 200 and text/event-stream; its errors are permanent", source: goClient, holds: refuses },
  { about: ["stall"], says: "Connect returns when the context is done, or after the last retry", source: goClient, holds: waits },
  { about: ["json", "order", "lifecycle", "unknown", "garbage"], says: "“Fully spec-compliant”: data is text", source: goSSE, holds: passed },
];

const httpxSSE = "https://github.com/florimondmanca/httpx-sse/blob/0.4.3/README.md";
const httpxBoth = [
  { about: legal, says: "“Consume Server-Sent Event messages with HTTPX”", source: httpxSSE, holds: all },
  { about: ["short"], says: "A body that ends regularly is complete", source: "https://www.rfc-editor.org/rfc/rfc9112#section-8", holds: passed },
  { about: ["unfinished"], says: "An event without its blank line is not dispatched", source: standard, holds: (o) => passed(o) && o.heard === "all but the last" },
  { about: ["stall"], says: "“Raise a TimeoutException after 5 seconds of network inactivity”", source: "https://www.python-httpx.org/advanced/timeouts", holds: reports(/^ReadTimeout$/) },
  { about: ["type"], says: "“If the response Content-Type is not text/event-stream, this will raise an SSEError”", source: httpxSSE, holds: reports(/^SSEError$/) },
  { about: ["json", "order", "lifecycle", "unknown", "garbage"], says: "Data is text; calling `sse.json()` is up to the caller", source: httpxSSE, holds: passed },
];
const cutNames = ["abort", "torn", "torn-utf8"];
const resumes = ["resume-lost", "resume-repeated", "resume-from-start", "resume-expired", "cursor-missing"];
const resumeNames = ["abort, resume-lost", "abort, resume-repeated", "abort, resume-from-start", "abort, resume-expired", "abort, cursor-missing"];
const otherError = "httpx raises RemoteProtocolError when a chunked body is truncated; ReadError is for connection resets only";

export const said = {
  agui: {
    promises: [
      { about: legal, says: "“Full AG-UI event processing”; comments and fields other than data are ignored", source: "https://docs.ag-ui.com/spec/draft/basic/transports/http-sse", holds: all },
      { about: ["cut", ...resumes], says: "“A connection that dies without [a terminal event] is a truncated run”; it does not reconnect", source: "https://docs.ag-ui.com/spec/draft/basic/transports", holds: reports(/terminated/) },
      { about: ["short"], says: "Termination can be distinguished from truncation: only the terminal event ends a run", source: "https://docs.ag-ui.com/spec/draft/basic/transports", holds: (o) => o.end === "error" },
      { about: ["unfinished"], says: "nothing", holds: undefined },
      { about: ["stall"], says: "nothing", holds: undefined },
      { about: ["refusal"], says: "A refused request is an error outside the stream", source: "https://docs.ag-ui.com/spec/draft/basic/transports", holds: reports(/HTTP (503|429)/) },
      { about: ["type"], says: "“HTTP connectivity with SSE/protobuf support”: everything except protobuf is read as SSE", source: "https://www.npmjs.com/package/@ag-ui/client/v/1.0.0", holds: all },
      { about: ["garbage", "json", "lifecycle"], says: "“Full AG-UI event processing with validation”", source: "https://www.npmjs.com/package/@ag-ui/client/v/1.0.0", holds: reports(/./) },
      { about: ["order"], says: "The order is that of arrival: deltas have no sequence number", source: "https://docs.ag-ui.com/spec/draft/basic/transports", holds: passed },
      { about: ["unknown"], says: "It logs: “Dropping unrecognised event”, which “the protocol does not describe”", source: "https://www.npmjs.com/package/@ag-ui/client/v/1.0.0", holds: all },
    ],
    otherwise: {
      "clean-end": "`runAgent` resolves as if the run were complete; callers must look for RUN_FINISHED",
      "end-missing": "the same",
    },
  },
  undici: {
    promises: [
      { about: legal, says: "“A streaming parser for server-sent events”; content codings are decoded", source: "https://www.npmjs.com/package/eventsource-parser/v/3.1.1", holds: all },
      { about: ["cut", ...resumes], says: "A truncated body is an error for its reader; fetch does not reconnect", source: fetching, holds: reports(/^TypeError: terminated$/) },
      { about: ["short"], says: "A body that ends regularly is complete", source: "https://www.rfc-editor.org/rfc/rfc9112#section-8", holds: passed },
      { about: ["unfinished"], says: "“Emits parsed messages once it receives a complete message”", source: "https://www.npmjs.com/package/eventsource-parser/v/3.1.1", holds: (o) => passed(o) && o.heard === "all but the last" },
      { about: ["stall"], says: "bodyTimeout: “Default: 300e3”, five minutes, longer than the test waits", source: "https://undici.nodejs.org/#/docs/api/Client", holds: waits },
      { about: ["refusal"], says: "fetch does not treat a status as an error: the caller checks it (and reports it here)", source: "https://fetch.spec.whatwg.org/#fetch-api", holds: refuses },
      { about: ["type"], says: "Checking the media type is up to the caller", source: "https://fetch.spec.whatwg.org/#fetch-api", holds: all },
      { about: ["garbage", "json", "order", "lifecycle", "unknown"], says: "Data is text", source: "https://www.npmjs.com/package/eventsource-parser/v/3.1.1", holds: passed },
    ],
  },
  "undici-source": { promises: eventSource, from: "“A WHATWG spec-compliant implementation of EventSource” (https://undici.nodejs.org/#/docs/api/EventSource)" },
  eventsource: { promises: eventSource, from: "“WhatWG/W3C-compatible”, “minimal amount of features/changes beyond the specification” (https://www.npmjs.com/package/eventsource/v/4.1.1)" },
  chromium: { promises: eventSource, from: "the standard" },
  "httpx-sse": {
    promises: [...httpxBoth,
      { about: ["refusal"], says: "Calling `raise_for_status()` is up to the caller, as in the README", source: httpxSSE, holds: reports(/^HTTPStatusError$/) },
      { about: ["cut", ...resumes], says: "It does not reconnect: “if the connection breaks while attempting to read from the server, you will get an httpx.ReadError”", source: httpxSSE, holds: reports(/^ReadError$/) },
    ],
    otherwise: Object.fromEntries([...cutNames, ...resumeNames].map((name) => [name, otherError])),
  },
  "httpx-sse-again": {
    promises: [...httpxBoth,
      { about: ["refusal"], says: "The recipe does not check the status, but the media type of a problem document is not that of a stream: SSEError", source: httpxSSE, holds: reports(/^SSEError$/) },
      { about: ["cut"], says: "“Here's how you might achieve [reconnection] using stamina”: `@retry(on=httpx.ReadError)`, with Last-Event-ID", source: httpxSSE, holds: recovers },
      { about: resumes, says: "The server decides where the stream continues", source: httpxSSE, holds: (o) => o.again > 0 },
    ],
    otherwise: Object.fromEntries([...cutNames, ...resumeNames].map((name) => [name, `${otherError}, and the recipe does not reconnect`])),
  },
  "go-sse": {
    promises: [...goBoth,
      { about: ["cut", "short"], says: "“Connection lost? … The connection will automatically be reattempted”", source: goSSE, holds: (o) => recovers(o) || o.heard === "all but the last" },
      { about: ["unfinished"], says: "“Fully spec-compliant”: an event without its blank line is not dispatched, and the client reconnects for it", source: goSSE, holds: recovers },
      { about: ["size"], says: "“Use [Buffer] if you need to read very large events (bigger than the default of 65K bytes)”", source: "https://pkg.go.dev/github.com/tmaxmax/go-sse@v0.11.0#Connection.Buffer", holds: (o) => all(o) || o.end === "endless" },
      { about: ["resume-lost", "resume-repeated", "resume-from-start", "cursor-missing"], says: "The server decides where the stream continues", source: standard, holds: (o) => o.again > 0 && o.heard !== "all" && o.end !== "error" },
      { about: ["resume-expired"], says: "Errors of the validator are permanent", source: goClient, holds: (o) => o.again === 1 && reports(/validation failed/)(o) },
    ],
    otherwise: { "no-last-blank-line": "the unfinished event is dispatched" },
  },
  "go-sse-once": {
    promises: [...goBoth,
      { about: ["cut", ...resumes], says: "MaxRetries -1: “configure the client to not retry the connection and ignore io.EOF on return”; other errors are handled", source: goSSE, holds: reports(/connection to server lost/) },
      { about: ["short"], says: "io.EOF is ignored", source: goSSE, holds: passed },
      { about: ["unfinished"], says: "“Fully spec-compliant”: an event without its blank line is not dispatched", source: goSSE, holds: (o) => o.heard === "all but the last" },
      { about: ["size"], says: "“Use [Buffer] if you need to read very large events (bigger than the default of 65K bytes)”", source: "https://pkg.go.dev/github.com/tmaxmax/go-sse@v0.11.0#Connection.Buffer", holds: (o) => all(o) || reports(/token too long/)(o) },
    ],
    otherwise: { "no-last-blank-line": "the unfinished event is dispatched" },
  },
};

// promise returns what a client documents about a fault.
export function promise(client, fault) {
  const found = said[client].promises.filter((p) => p.about.includes(fault.about));
  if (found.length !== 1) throw new Error(`${client}: ${found.length} promises about ${fault.about}, want one`);
  return found[0];
}

// Why clients fail to read a legal variation, by the outcome.
const anyCase = "The media type of the response is in upper case, which is legal (RFC 9110, section 8.3.1); the client accepts lower case only";
const lastCR = "The last line ends with a CR, which is a complete line ending; the client waits for the next character, and does not dispatch the last event";
const empty = "A block with only `retry:` has no data and is not an event (“If the data buffer is an empty string, … return”); the client dispatches one";
export const unread = {
  agui: [
    [/^(nothing|the beginning); reports SyntaxError$/, "Lines end with CR LF, or with mixed line endings; the client splits events at LF LF only. Its protocol requires servers to send LF and allows clients to rely on that (https://docs.ag-ui.com/spec/draft/basic/transports/http-sse)"],
    [/^nothing; no error$/, "Lines end with CR: the client finds no event and reports no error"],
    [/carries no event type/, "A field “ data” (with a leading space), which is not `data` and must be ignored, is read as `data`"],
  ],
  undici: [[/^all but the last; no error$/, `${lastCR} (eventsource-parser)`]],
  eventsource: [
    [/^nothing; reports closed$/, anyCase],
    [/comes back/, `${lastCR} until it has reconnected, or at all`],
  ],
  "httpx-sse": [[/^nothing; reports SSEError$/, anyCase], [/^all, (one|some) empty/, empty]],
  "httpx-sse-again": [[/^nothing; reports SSEError$/, anyCase], [/^all, (one|some) empty/, empty]],
  "go-sse": [[/^all, (one|some) empty/, empty]],
  "go-sse-once": [[/^all, (one|some) empty/, empty]],
};

// why returns why a client did not read a legal variation of a stream.
export const why = (client, words) => unread[client]?.find(([does]) => does.test(words))?.[1];
