// The faults that every client meets, by what they are about. `run` faults stand in the
// request that opens the run, and strike the first stream of it; `stream` faults stand
// in the first request for the stream. Both are X-Mock-Fault headers.
export const prompt = "conformance:many 8";

export const catalogue = [
  { name: "none", about: "whole" },

  { name: "clean-end", about: "short", run: "clean-end; event=5" },
  { name: "abort", about: "cut", run: "abort; event=5" },
  { name: "reset", about: "cut", run: "reset; event=5" },
  { name: "torn", about: "cut", run: "torn; event=5" },
  { name: "torn-utf8", about: "cut", run: "torn-utf8; event=5" },
  { name: "no-last-blank-line", about: "unfinished", run: "no-last-blank-line" },
  { name: "stall", about: "stall", run: "stall; event=5" },

  { name: "drip", about: "legal", run: "drip; bytes=16; every=1ms" },
  { name: "split", about: "legal", run: "split; bytes=7; every=1ms" },
  { name: "together", about: "legal", run: "together; events=12" },
  { name: "slow-head", about: "legal", stream: "slow-head; for=500ms" },
  { name: "oversize, 64 KiB", about: "size", run: "oversize; event=0; bytes=65536; streams=0" },
  { name: "oversize, 1 MiB", about: "size", run: "oversize; event=0; bytes=1048576; streams=0" },

  { name: "http-error, 503", about: "refusal", stream: "http-error; status=503" },
  { name: "too-many, Retry-After", about: "refusal", stream: "too-many; retry-after=1s" },
  { name: "content-type, text/plain", about: "type", stream: "content-type" },
  { name: "content-type, none", about: "type", stream: "content-type; type=none" },
  { name: "gzip", about: "gzip", run: "gzip" },
  { name: "garbage", about: "garbage", run: "garbage; event=5" },

  { name: "malformed", about: "json", run: "malformed; event=5" },
  { name: "duplicated", about: "order", run: "duplicated; event=5" },
  { name: "reordered", about: "order", run: "reordered; event=5" },
  { name: "reordered, at the end", about: "lifecycle", run: "reordered; event=10" },
  { name: "end-missing", about: "short", run: "end-missing" },
  { name: "unknown-event", about: "unknown", run: "unknown-event; event=5" },

  { name: "abort, resume-lost", about: "resume-lost", run: "abort; event=5, resume-lost" },
  { name: "abort, resume-repeated", about: "resume-repeated", run: "abort; event=5, resume-repeated" },
  { name: "abort, resume-from-start", about: "resume-from-start", run: "abort; event=5, resume-from-start" },
  { name: "abort, resume-expired", about: "resume-expired", run: "abort; event=5, resume-expired" },
  { name: "abort, cursor-missing", about: "cursor-missing", run: "cursor-missing; streams=1, abort; event=5" },
];

// seeds are those by which streams are told in other legal ways.
export const seeds = Array.from({ length: 20 }, (_, i) => i + 1);
