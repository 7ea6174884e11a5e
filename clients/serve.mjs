// Starts the program, for tests of clients. It is ../streamassay (make build), or what
// the variable STREAMASSAY names.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const program = process.env.STREAMASSAY ?? fileURLToPath(new URL("../streamassay", import.meta.url));

// serve starts the reference server.
export const serve = (...flags) => start("serve", "--dialect", "runs", ...flags);

// mock starts the mock, with a seed: its ids are the same each time.
export const mock = (...flags) => start("mock", "--dialect", "runs", "--eventsource", "--seed", "1", ...flags);

// start starts the program with a command that serves, and tells where it serves: base is the first of the
// URLs, bases are all of them by name.
export async function start(command, ...flags) {
  const dir = await mkdtemp(join(tmpdir(), "streamassay-"));
  const ready = join(dir, "ready.json");
  const child = spawn(program, [command, "--ready-file", ready, ...flags], { stdio: ["ignore", "ignore", "inherit"] });
  const over = once(child, "exit");
  let told;
  for (let i = 0; !told; i++) {
    if (i > 500 || child.exitCode !== null) throw new Error(`${program} ${command} is not ready`);
    told = await readFile(ready, "utf8").then(JSON.parse, () => undefined);
    if (!told) await new Promise((done) => setTimeout(done, 20));
  }
  return {
    base: Object.values(told.base)[0],
    bases: told.base,
    control: told.control,
    async close() {
      child.kill("SIGTERM");
      await over;
      await rm(dir, { recursive: true });
    },
  };
}
