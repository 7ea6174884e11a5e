// The npm package eventsource, with headers through its `fetch` option.
import { EventSource } from "eventsource";
import { source } from "./source.mjs";

export function read({ url, first, every, patience }) {
  let asks = 0;
  const seen = (input, init) => fetch(input, { ...init, headers: { ...init.headers, ...(asks++ === 0 ? first : {}), ...every } });
  return source(new EventSource(url, { fetch: seen }), { patience });
}
