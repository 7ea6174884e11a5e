// Makes docs/clients.md of what was seen.
import { clients } from "../clients.mjs";
import { catalogue, seeds } from "./catalogue.mjs";
import { promise, said, why } from "./said.mjs";

// sign is an outcome in a word.
function sign(words) {
  const parts = words.split("; ");
  const again = parts.some((p) => p.startsWith("comes back"));
  if (parts.some((p) => p.startsWith("reports"))) return again ? "reports, after coming back" : "reports";
  if (parts.includes("waits")) return "waits";
  if (parts.some((p) => p.startsWith("does not stop"))) return "comes back for ever";
  if (again) return parts[0] === "all" ? "**recovers**" : /all but|not all/.test(parts[0]) ? "loses" : "repeats";
  if (parts[0] === "all") return "reads all";
  return parts[0] === "the beginning" || parts[0] === "all but the last" || parts[0] === "nothing" ? "**ends, silent**" : "passes on";
}

const head = `# What clients make of faults

Real clients, as they were published, against \`streamassay mock\`. Each fault is one of [the catalogue](faults.md), and each outcome was seen in a test
that also fails when a client does otherwise (\`make clients\`; \`npm run table\` in [clients/](../clients) writes this page from
[what was seen](../clients/faults/outcomes.json)). The run is one of twelve events: \`conformance:many 8\`;
before a cut nothing comes for half a second, so that what was sent before was read.

* **reads all**: every event, once, and the end. **recovers**: likewise, after it came back with its cursor by itself.
* **reports**: its caller gets an error. **passes on**: its caller gets what was sent, right or wrong.
* **ends, silent**: events are missing, and its caller is told nothing. **waits**: no end and no error, as long as was looked.
* **loses**, **repeats**: it comes back, and what its server does wrong its caller hears. **comes back for ever**: and never stops.
* ✗: its documentation promises otherwise; below it says what.

A transport cannot know whether a run is whole: for whoever gets events from it, *ends, silent* and *passes on* are no faults of the client, but
work for the caller: look for the event that ends a run.
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
  return (n === seeds.length ? "reads all" : `reads ${n} of ${seeds.length}`) + (besides > 0 ? `, empty events besides in ${besides}` : "");
}

// section is what a client promises, and what it did.
function section(c, { faults, vary }) {
  const lines = [`## ${c.name}`, ""];
  if (said[c.id].from) lines.push(`What it promises: ${said[c.id].from}.`, "");
  lines.push("| it is documented | faults | what it does |", "|---|---|---|");
  for (const p of said[c.id].promises) {
    const of = catalogue.filter((f) => promise(c.id, f) === p);
    const does = groupBy(of, (f) => faults[f.name]);
    const cell = [...does].map(([w, fs]) => (does.size === 1 ? w : `${fs.map(title).join("; ")}: ${w}`)).join("<br>");
    lines.push(`| ${p.says === "nothing" ? "(nothing is said)" : p.says}${p.source ? ` ([source](${p.source}))` : ""} | ${of.map(title).join("; ")} | ${cell.replaceAll("|", "\\|")} |`);
  }
  lines.push("");
  const known = groupBy(Object.entries(said[c.id].otherwise ?? {}), ([, why]) => why);
  for (const [why, names] of known) lines.push(`✗ ${names.map(([n]) => n).join("; ")}: ${why}.`, "");
  for (const [reason, list] of groupBy(Object.entries(vary), ([, w]) => why(c.id, w))) {
    const does = [...groupBy(list, ([, w]) => w)].map(([w, of]) => `${w} (seeds ${of.map(([s]) => s).join(", ")})`);
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
