// Compares what @ag-ui/client and streamassay notice of the mutants of AG-UI 1.0, servers with one
// defect each, and writes docs/agui-mutants.md. What streamassay finds is what docs/mutants.md says,
// which `make mutants` writes and checks.
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { conversations, converse } from "./conversations.mjs";
import { program, start } from "../serve.mjs";

const dialect = "agui@1.0";
const version = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).devDependencies["@ag-ui/client"];
const headers = { Authorization: "Bearer token-of-ann" };

// stdout returns what the program prints, whether it succeeds or not.
async function stdout(...args) {
  return promisify(execFile)(program, args, { maxBuffer: 1 << 28 }).then((r) => r.stdout, (error) => {
    if (!error.stdout) throw error;
    return error.stdout;
  });
}

// reportsOf has all conversations with a server and returns what the client reports of each.
async function reportsOf(base, correct) {
  const reports = {};
  for (const name of Object.keys(conversations)) {
    const { error, warnings } = await converse(base, name, { headers, patience: 4000 });
    reports[name] = [error, ...warnings.map((w) => `warns: ${w}`)].filter((r) => r && !correct?.[name].includes(r));
    if (correct?.[name].some((r) => !r.startsWith("warns") && error === "")) reports[name].push("reports no error");
    if (correct && reports[name].length > 0) break; // one is enough
  }
  return reports;
}

// verdicts reads from docs/mutants.md which mutants are not found as expected, and why.
function verdicts(document) {
  const found = {};
  for (const section of document.split(/^## /m)) {
    const words = { Survivors: "survives", "Equivalent to the correct server": "no request shows it" }[section.split("\n")[0]];
    if (!words) continue;
    for (const [, name] of section.matchAll(/^\* (\S+) in agui@1\.0\b/gm)) found[name] = words;
  }
  return found;
}

const cell = (text) => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");

const played = readFileSync(new URL("../../docs/mutants.md", import.meta.url), "utf8");
const isPlayed = played.includes(`| ${dialect} |`);
const verdict = verdicts(played);
const mutants = JSON.parse(await stdout("list", "mutants", "--dialect", dialect, "--json"));
const servers = await start("mutants", "--serve", "--dialect", dialect);
const rows = [];
const count = { client: 0, suite: 0, both: 0, waits: 0, all: 0 };
try {
  const correct = await reportsOf(servers.bases.correct);
  const wrong = Object.entries(correct).filter(([name, r]) => r.length > 0 && !name.startsWith("error"));
  if (wrong.length > 0) throw new Error(`the client does not accept the correct server: ${JSON.stringify(wrong)}`);
  for (const { name, doc, breaks, kills } of mutants) {
    const [in_, reports] = Object.entries(await reportsOf(servers.bases[name], correct)).find(([, r]) => r.length > 0) ?? ["", []];
    const waits = reports.includes("waits");
    const client = reports.length > 0 && !waits;
    const suite = !(name in verdict);
    count.all++;
    count.client += client;
    count.waits += waits;
    count.suite += suite;
    count.both += client && suite;
    const seen = reports.length === 0 ? "–" : `${waits ? "waits, without an error" : reports[0]} (${in_})`;
    const ids = breaks.filter((id) => id.startsWith("agui.")).map((id) => `\`${id}\``).join(" ");
    rows.push(`| ${name} | ${cell(doc)} | ${ids} | ${cell(seen)} | ${verdict[name] ?? Object.keys(kills).sort().join(" ")} |`);
  }
} finally {
  await servers.close();
}

const equivalent = Object.values(verdict).filter((v) => v !== "survives").length;
writeFileSync(new URL("../../docs/agui-mutants.md", import.meta.url), `# What a stock client notices of a broken AG-UI server

Made by \`make agui-mutants\`. A mutant is a correct server with one defect ([mutants.md](mutants.md)). @ag-ui/client ${version}, the client
that frontends use, has ${Object.keys(conversations).length} conversations with each mutant of ${dialect}: one for each test prompt, including calls of its tool and answers
to interrupts. The client notices a defect if it reports an error or prints a warning that it does not with the correct
server. Detection is not its task: it accepts every stream that it can use, and sends valid requests only.

Of ${count.all} mutants, the client notices ${count.client}, and waits for more than 4 seconds, without an error, for ${count.waits} more. ${isPlayed ? `streamassay finds ${count.suite}${equivalent ? ` (no request of the suite can show the defect of ${equivalent})` : ""}.
The client notices ${count.client - count.both} that streamassay does not find.` : `The last column lists the checks of streamassay that must
find the mutant; mutants.md was made without ${dialect}, so it does not confirm that they do.`}

| mutant | what is wrong | requirements | @ag-ui/client ${version} (conversation) | found by ([mutants.md](mutants.md)) |
|---|---|---|---|---|
${rows.join("\n")}
`);
console.log(`agui-mutants: ${JSON.stringify(count)}`);
process.exit(0);
