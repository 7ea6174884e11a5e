// The Python that has what requirements.txt lists, in an environment of its own.
import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const here = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

export const missing = spawnSync("python3", ["-c", "import ensurepip, sys; sys.exit(sys.version_info < (3, 10))"]).status === 0
  ? false : "python3 cannot make environments (Debian: apt-get install python3-venv)";

// python is made once for each list of requirements.
export async function python() {
  const dir = here(".venv");
  const wanted = createHash("sha256").update(readFileSync(here("requirements.txt"))).digest("hex");
  const mark = `${dir}/wanted`;
  const program = `${dir}/bin/python`;
  if (existsSync(mark) && readFileSync(mark, "utf8") === wanted) return program;
  rmSync(dir, { recursive: true, force: true });
  await run("python3", ["-m", "venv", dir]);
  await run(program, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", here("requirements.txt")]);
  writeFileSync(mark, wanted);
  return program;
}
