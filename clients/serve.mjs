// Starts `streamassay serve`, for tests of clients. The program is ../streamassay
// (make build), or what the variable STREAMASSAY names.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";

const program = process.env.STREAMASSAY ?? new URL("../streamassay", import.meta.url).pathname;

export async function serve(...flags) {
  const dir = await mkdtemp(join(tmpdir(), "streamassay-"));
  const ready = join(dir, "ready.json");
  const child = spawn(program, ["serve", "--dialect", "runs", "--ready-file", ready, ...flags], { stdio: ["ignore", "ignore", "inherit"] });
  const over = once(child, "exit");
  let base;
  for (let i = 0; !base; i++) {
    if (i > 500 || child.exitCode !== null) throw new Error(`${program} serve is not ready`);
    base = await readFile(ready, "utf8").then((text) => Object.values(JSON.parse(text).base)[0], () => undefined);
    if (!base) await new Promise((done) => setTimeout(done, 20));
  }
  return {
    base,
    async close() {
      child.kill("SIGTERM");
      await over;
      await rm(dir, { recursive: true });
    },
  };
}
