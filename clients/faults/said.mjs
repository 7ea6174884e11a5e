// What the documentation of each client promises, and where a client does otherwise.
// A promise is about some of the catalogue; holds says whether an outcome keeps it.
// otherwise names the faults at which it is not kept: the test fails when one of them is
// kept after all, as it does when another is not.
const passed = (o) => o.end === "ends" && o.again === 0;
const all = (o) => passed(o) && o.heard === "all";
const recovers = (o) => o.end === "ends" && o.again > 0 && o.cursor && o.heard === "all";
const reports = (error) => (o) => o.end === "error" && error.test(o.error);
const refuses = (o) => o.end === "error" && o.heard === "nothing" && o.again === 0;
const waits = (o) => o.end === "waits";
const legal = ["whole", "legal", "size", "gzip"];

const standard = "https://html.spec.whatwg.org/multipage/server-sent-events.html";
const fetching = "https://fetch.spec.whatwg.org/#concept-body-consume-body";

// eventSource is what the standard says, which all who call themselves EventSource follow.
const eventSource = [
  { about: legal, says: "Events are what the grammar says, however the bytes come, and however long they are", source: standard, holds: all },
  { about: ["cut", "short"], says: "At the end of the body, or a network error, it reestablishes the connection, with Last-Event-ID", source: standard,
    holds: (o) => recovers(o) || o.heard === "all but the last" /* the server said with 204 that this is all */ },
  { about: ["unfinished"], says: "“If the file ends in the middle of an event, before the final empty line, the incomplete event is not dispatched”; it comes back for it", source: standard, holds: recovers },
  { about: ["stall"], says: "There is no timeout", source: standard, holds: waits },
  { about: ["refusal", "type"], says: "A status other than 200, or another type than text/event-stream, fails the connection: it does not come back, Retry-After or not", source: standard, holds: refuses },
  { about: ["garbage"], says: "Bytes are decoded as UTF-8; what is none is replaced, and no error", source: standard, holds: (o) => passed(o) && o.heard === "all, one broken" },
  { about: ["json", "order", "lifecycle", "unknown"], says: "Data is text: what it says is not looked at", source: standard, holds: passed },
  { about: ["resume-lost", "resume-repeated", "resume-from-start", "cursor-missing"], says: "Where the stream goes on is the server's to say: what it loses is lost, what it repeats is heard twice", source: standard,
    holds: (o) => o.again > 0 && o.heard !== "all" && o.end !== "error" },
  { about: ["resume-expired"], says: "A refusal fails the connection", source: standard, holds: (o) => o.again === 1 && reports(/closed/)(o) },
];

const goSSE = "https://github.com/tmaxmax/go-sse/blob/v0.11.0/README.md";
const goClient = "https://pkg.go.dev/github.com/tmaxmax/go-sse@v0.11.0#Client";
const goBoth = [
  { about: ["whole", "legal", "gzip"], says: "“Lightweight, fully spec-compliant”", source: goSSE, holds: all },
  { about: ["refusal", "type"], says: "The default validator wants 200 and text/event-stream; its errors are permanent", source: goClient, holds: refuses },
  { about: ["stall"], says: "Connect returns when the context is done, or when it is done retrying", source: goClient, holds: waits },
  { about: ["json", "order", "lifecycle", "unknown", "garbage"], says: "“Fully spec-compliant”: data is text", source: goSSE, holds: passed },
];

const httpxSSE = "https://github.com/florimondmanca/httpx-sse/blob/0.4.3/README.md";
const httpxBoth = [
  { about: legal, says: "“Consume Server-Sent Event messages with HTTPX”", source: httpxSSE, holds: all },
  { about: ["short"], says: "A body that ends properly is whole", source: "https://www.rfc-editor.org/rfc/rfc9112#section-8", holds: passed },
  { about: ["unfinished"], says: "An event without its blank line is not dispatched", source: standard, holds: (o) => passed(o) && o.heard === "all but the last" },
  { about: ["stall"], says: "“Raise a TimeoutException after 5 seconds of network inactivity”", source: "https://www.python-httpx.org/advanced/timeouts", holds: reports(/^ReadTimeout$/) },
  { about: ["type"], says: "“If the response Content-Type is not text/event-stream, this will raise an SSEError”", source: httpxSSE, holds: reports(/^SSEError$/) },
  { about: ["json", "order", "lifecycle", "unknown", "garbage"], says: "Data is text; `sse.json()` is the caller's", source: httpxSSE, holds: passed },
];
const cutNames = ["abort", "torn", "torn-utf8"];
const resumes = ["resume-lost", "resume-repeated", "resume-from-start", "resume-expired", "cursor-missing"];
const resumeNames = ["abort, resume-lost", "abort, resume-repeated", "abort, resume-from-start", "abort, resume-expired", "abort, cursor-missing"];
const otherError = "httpx raises RemoteProtocolError when a chunked body breaks off, which is no ReadError: that is for resets alone";

export const said = {
  agui: {
    promises: [
      { about: legal, says: "“Full AG-UI event processing”; comments and fields other than data are ignored", source: "https://docs.ag-ui.com/spec/draft/basic/transports/http-sse", holds: all },
      { about: ["cut", ...resumes], says: "“A connection that dies without [a terminal event] is a truncated run”; it does not come back", source: "https://docs.ag-ui.com/spec/draft/basic/transports", holds: reports(/terminated/) },
      { about: ["short"], says: "A termination that can be told from truncation: a run is closed by its terminal event alone", source: "https://docs.ag-ui.com/spec/draft/basic/transports", holds: (o) => o.end === "error" },
      { about: ["unfinished"], says: "nothing", holds: undefined },
      { about: ["stall"], says: "nothing", holds: undefined },
      { about: ["refusal"], says: "What is refused is an error, outside the stream", source: "https://docs.ag-ui.com/spec/draft/basic/transports", holds: reports(/HTTP (503|429)/) },
      { about: ["type"], says: "“HTTP connectivity with SSE/protobuf support”: what is not protobuf is read as SSE", source: "https://www.npmjs.com/package/@ag-ui/client/v/1.0.0", holds: all },
      { about: ["garbage", "json", "lifecycle"], says: "“Full AG-UI event processing with validation”", source: "https://www.npmjs.com/package/@ag-ui/client/v/1.0.0", holds: reports(/./) },
      { about: ["order"], says: "The order is that of arrival: deltas have no number to see it by", source: "https://docs.ag-ui.com/spec/draft/basic/transports", holds: passed },
      { about: ["unknown"], says: "It says itself: “Dropping unrecognised event”, which “the protocol does not describe”", source: "https://www.npmjs.com/package/@ag-ui/client/v/1.0.0", holds: all },
    ],
    otherwise: {
      "clean-end": "`runAgent` resolves as if the run were whole: who wants to know looks for RUN_FINISHED",
      "end-missing": "likewise",
    },
  },
  undici: {
    promises: [
      { about: legal, says: "“A streaming parser for server-sent events”; content codings are undone", source: "https://www.npmjs.com/package/eventsource-parser/v/3.1.1", holds: all },
      { about: ["cut", ...resumes], says: "A body that breaks off is an error to its reader; fetch does not come back", source: fetching, holds: reports(/^TypeError: terminated$/) },
      { about: ["short"], says: "A body that ends properly is whole", source: "https://www.rfc-editor.org/rfc/rfc9112#section-8", holds: passed },
      { about: ["unfinished"], says: "“Emits parsed messages once it receives a complete message”", source: "https://www.npmjs.com/package/eventsource-parser/v/3.1.1", holds: (o) => passed(o) && o.heard === "all but the last" },
      { about: ["stall"], says: "bodyTimeout: “Default: 300e3”, five minutes, which is longer than is waited here", source: "https://undici.nodejs.org/#/docs/api/Client", holds: waits },
      { about: ["refusal"], says: "A status is no error of fetch: who asks looks at it (here: and reports it)", source: "https://fetch.spec.whatwg.org/#fetch-api", holds: refuses },
      { about: ["type"], says: "The type is for who asks to look at", source: "https://fetch.spec.whatwg.org/#fetch-api", holds: all },
      { about: ["garbage", "json", "order", "lifecycle", "unknown"], says: "Data is text", source: "https://www.npmjs.com/package/eventsource-parser/v/3.1.1", holds: passed },
    ],
  },
  "undici-source": { promises: eventSource, from: "“A WHATWG spec-compliant implementation of EventSource” (https://undici.nodejs.org/#/docs/api/EventSource)" },
  eventsource: { promises: eventSource, from: "“WhatWG/W3C-compatible”, “minimal amount of features/changes beyond the specification” (https://www.npmjs.com/package/eventsource/v/4.1.1)" },
  chromium: { promises: eventSource, from: "the standard" },
  "httpx-sse": {
    promises: [...httpxBoth,
      { about: ["refusal"], says: "`raise_for_status()` is the caller's, as the README has it", source: httpxSSE, holds: reports(/^HTTPStatusError$/) },
      { about: ["cut", ...resumes], says: "It does not come back: “if the connection breaks while attempting to read from the server, you will get an httpx.ReadError”", source: httpxSSE, holds: reports(/^ReadError$/) },
    ],
    otherwise: Object.fromEntries([...cutNames, ...resumeNames].map((name) => [name, otherError])),
  },
  "httpx-sse-again": {
    promises: [...httpxBoth,
      { about: ["refusal"], says: "The recipe does not look at the status, but the type of a problem is none of a stream: SSEError", source: httpxSSE, holds: reports(/^SSEError$/) },
      { about: ["cut"], says: "“Here's how you might achieve [reconnection] using stamina”: `@retry(on=httpx.ReadError)`, with Last-Event-ID", source: httpxSSE, holds: recovers },
      { about: resumes, says: "Where the stream goes on is the server's to say", source: httpxSSE, holds: (o) => o.again > 0 },
    ],
    otherwise: Object.fromEntries([...cutNames, ...resumeNames].map((name) => [name, `${otherError}, and the recipe does not come back`])),
  },
  "go-sse": {
    promises: [...goBoth,
      { about: ["cut", "short"], says: "“Connection lost? … The connection will automatically be reattempted”", source: goSSE, holds: (o) => recovers(o) || o.heard === "all but the last" },
      { about: ["unfinished"], says: "“Fully spec-compliant”: an event without its blank line is not dispatched, and is come back for", source: goSSE, holds: recovers },
      { about: ["size"], says: "“Use [Buffer] if you need to read very large events (bigger than the default of 65K bytes)”", source: "https://pkg.go.dev/github.com/tmaxmax/go-sse@v0.11.0#Connection.Buffer", holds: (o) => all(o) || o.end === "endless" },
      { about: ["resume-lost", "resume-repeated", "resume-from-start", "cursor-missing"], says: "Where the stream goes on is the server's to say", source: standard, holds: (o) => o.again > 0 && o.heard !== "all" && o.end !== "error" },
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

// promise is what a client is documented to do about a fault.
export function promise(client, fault) {
  const found = said[client].promises.filter((p) => p.about.includes(fault.about));
  if (found.length !== 1) throw new Error(`${client}: ${found.length} promises about ${fault.about}, where one is wanted`);
  return found[0];
}

// Why clients do not read what is told in another legal way, by what they do then.
const anyCase = "The type of the answer is spelled in capitals, as any media type may be (RFC 9110, section 8.3.1): it looks for small letters alone";
const lastCR = "The last line ends with a CR, which ends a line by itself: it waits for what comes after, and the last event is not dispatched";
const empty = "A block of `retry:` alone has no data, and is no event (“If the data buffer is an empty string, … return”): it dispatches one";
export const unread = {
  agui: [
    [/^(nothing|the beginning); reports SyntaxError$/, "Lines end with CR LF, or now so and now so: it parts events at LF LF alone. Its protocol has servers send LF, and clients may leave it at that (https://docs.ag-ui.com/spec/draft/basic/transports/http-sse)"],
    [/^nothing; no error$/, "Lines end with CR: it sees no event, and says nothing"],
    [/carries no event type/, "A field “ data” (with a space before it), which is not `data` and is to be ignored, is taken for it"],
  ],
  undici: [[/^all but the last; no error$/, `${lastCR} (eventsource-parser)`]],
  eventsource: [
    [/^nothing; reports closed$/, anyCase],
    [/comes back/, `${lastCR} before it has come back, or at all`],
  ],
  "httpx-sse": [[/^nothing; reports SSEError$/, anyCase], [/^all, (one|some) empty/, empty]],
  "httpx-sse-again": [[/^nothing; reports SSEError$/, anyCase], [/^all, (one|some) empty/, empty]],
  "go-sse": [[/^all, (one|some) empty/, empty]],
  "go-sse-once": [[/^all, (one|some) empty/, empty]],
};

// why is why a client did not read a stream that was told in another way.
export const why = (client, words) => unread[client]?.find(([does]) => does.test(words))?.[1];
