// @ag-ui/client against a server of agent runs. Its HttpAgent posts the input and
// reads the answer of that request; here the run is told by a second request, and
// what the input may hold is stricter. Both is a matter of the fetch function that
// the client lets its users give; the client itself is as it was published.
import { HttpAgent } from "@ag-ui/client";

// agentOf is an agent of the client behind which the runs of a server stand. headers are
// those of its two requests, besides its own.
export function agentOf(base, token, threadId, { run = {}, stream = {} } = {}) {
  const headers = { Authorization: `Bearer ${token}` };
  const fetchRun = async (_url, init) => {
    const input = JSON.parse(init.body);
    // One user message, the first: the server remembers the rest (the client repeats it).
    const last = input.messages.findLast((m) => m.role === "user");
    const accepted = await fetch(`${base}/runs`, {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json", ...run },
      body: JSON.stringify({ ...input, messages: [last], forwardedProps: { runtime_mode: "chat", ...input.forwardedProps } }),
    });
    if (accepted.status !== 202) return accepted;
    return fetch(`${base}/runs/${input.threadId}/events?runId=${encodeURIComponent(input.runId)}`, {
      headers: { ...headers, Accept: "text/event-stream", ...stream },
      signal: init.signal,
    });
  };
  return new HttpAgent({ url: base, threadId, fetch: fetchRun });
}
