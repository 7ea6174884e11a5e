// Renders docs/clients.md from the recorded outcomes.
import { clients } from "../clients.mjs";
import { catalogue, seeds } from "./catalogue.mjs";
import { promise, said, why } from "./said.mjs";

// sign returns the summary of an outcome for a cell of the table.
function sign(words) {
  const parts = words.split("; ");
  const again = parts.some((p) => p.startsWith("comes back"));
  if (parts.some((p) => p.startsWith("reports"))) return again ? "reports, after reconnecting" : "reports";
  if (parts.includes("waits")) return "waits";
  if (parts.some((p) => p.startsWith("does not stop"))) return "reconnects forever";
  if (again) return parts[0] === "all" ? "**recovers**" : /all but|not all/.test(parts[0]) ? "loses" : "repeats";
  if (parts[0] === "all") return "reads all";
  return parts[0] === "the beginning" || parts[0] === "all but the last" || parts[0] === "nothing" ? "**ends, silent**" : "passes on";
}

// plain rewrites the words of outcomes.json for the page.
const plain = (words) => words
  .replaceAll("does not stop coming back", "reconnects forever")
  .replaceAll("comes back", "reconnects")
  .replaceAll("the beginning", "the first events");

const head = `# How clients react to faults

Published clients were run against \`streamassay mock\`. The faults are those of [the catalogue](faults.md). Each outcome is checked by a test, which
fails when a client behaves differently (\`make clients\`; \`npm run table\` in [clients/](../clients) generates this page from
[the recorded outcomes](../clients/faults/outcomes.json)). The stream has twelve events (\`conformance:many 8\`); the mock pauses for half a second
before it cuts a stream, so that the client has read everything sent before.

* **reads all**: every event once, and the end. **recovers**: the same, after reconnecting with its cursor by itself.
* **reports**: the caller gets an error. **passes on**: the caller gets what was sent, right or wrong.
* **ends, silent**: events are missing and the caller gets no error. **waits**: neither an end nor an error within the time of the test.
* **loses**, **repeats**: it reconnects, and the caller gets the stream with the server's error. **reconnects forever**: it never stops.
* ✗: differs from the client's documentation; the notes below give details.

A transport cannot know whether a run is complete. For clients that only deliver events, *ends, silent* and *passes on* are therefore not defects of
the client: the caller must look for the terminal event of the run.
`;

export function render(seen) {
  const versions = clients.map((c) => `${c.name}${c.version ? ` ${c.version}` : ""}`);
  const rows = catalogue.map((fault) => {
    const cells = clients.map((c) => sign(seen[c.id].faults[fault.name]) + (said[c.id].otherwise?.[fault.name] ? " ✗" : ""));
    return `| ${[use(fault), ...cells].join(" | ")} |`;
  });
  rows.push(`| ${["\`--vary\`, 20 seeds", ...clients.map((c) => sung(seen[c.id].vary))].join(" | ")} |`);
  return [
    head,
    `| fault | ${versions.join(" | ")} |`,
    `|---|${"---|".repeat(versions.length)}`,
    ...rows,
    "",
    ...clients.flatMap((c) => section(c, seen[c.id])),
  ].join("\n");
}

const title = (fault) => fault.name;

const use = (fault) => (fault.run ?? fault.stream ? `\`${fault.run ?? fault.stream}\`` : "none");

function sung(vary) {
  const all = Object.values(vary);
  const besides = all.filter((w) => /^all, (one|some) empty/.test(w)).length;
  const n = seeds.length - all.length + besides;
  return (n === seeds.length ? "reads all" : `reads ${n} of ${seeds.length}`) + (besides > 0 ? `, plus empty events in ${besides}` : "");
}

// section returns what a client documents and what it did, fault by fault.
function section(c, { faults, vary }) {
  const lines = [`## ${c.name}`, ""];
  if (said[c.id].from) lines.push(`Documented behaviour: ${said[c.id].from}.`, "");
  lines.push("| documentation | faults | observed |", "|---|---|---|");
  for (const p of said[c.id].promises) {
    const of = catalogue.filter((f) => promise(c.id, f) === p);
    const does = groupBy(of, (f) => plain(faults[f.name]));
    const cell = [...does].map(([w, fs]) => (does.size === 1 ? w : `${fs.map(title).join("; ")}: ${w}`)).join("<br>");
    lines.push(`| ${p.says === "nothing" ? "(not documented)" : p.says}${p.source ? ` ([source](${p.source}))` : ""} | ${of.map(title).join("; ")} | ${cell.replaceAll("|", "\\|")} |`);
  }
  lines.push("");
  const known = groupBy(Object.entries(said[c.id].otherwise ?? {}), ([, why]) => why);
  for (const [why, names] of known) lines.push(`✗ ${names.map(([n]) => n).join("; ")}: ${why}.`, "");
  for (const [reason, list] of groupBy(Object.entries(vary), ([, w]) => why(c.id, w))) {
    const does = [...groupBy(list, ([, w]) => plain(w))].map(([w, of]) => `${w} (seeds ${of.map(([s]) => s).join(", ")})`);
    lines.push(`\`--vary\`: ${does.join("; ")}. ${reason}.`, "");
  }
  return lines;
}

function groupBy(list, key) {
  const groups = new Map();
  for (const item of list) {
    const k = key(item);
    if (!groups.has(k)) groups.set(k, []);
    groups.get(k).push(item);
  }
  return groups;
}
