// Reads the output of `go test -json` from the file that is named on the command line. It prints the
// time of each package, tests that did not run and say so, the output of failed tests, and how many
// servers and runs the most important tests have judged.
import { readFileSync } from 'node:fs'

const output = new Map() // test or package → its output
const passed = new Map() // test → time in seconds
const failed = []
for (const line of readFileSync(process.argv[2], 'utf8').split('\n')) {
  let event
  try {
    event = JSON.parse(line)
  } catch {
    // not JSON
  }
  if (typeof event?.Action !== 'string') {
    if (line) console.log(line) // of the compiler
    continue
  }
  const key = event.Test ? `${event.Package} ${event.Test}` : (event.Package ?? event.ImportPath)
  if (event.Action === 'output' || event.Action === 'build-output') {
    output.set(key, (output.get(key) ?? '') + event.Output)
    if (event.Output.includes('DID NOT RUN')) console.log(event.Output.trimEnd())
  } else if (event.Action === 'pass' && event.Test) passed.set(event.Test, event.Elapsed)
  else if (event.Action === 'pass') console.log(`ok  \t${event.Package}\t${event.Elapsed.toFixed(3)}s`)
  else if (event.Action.endsWith('fail')) failed.push(key)
}
const count = (pattern) => [...passed.keys()].filter((test) => pattern.test(test)).length
const pairs = count(/^(TestNullTargets|TestOtherProtocols)\/[^/]+$/)
console.log(`null gate: ${pairs} pairs of a server that says nothing and a dialect; nothing passed`)
const varied = count(/^(TestSuiteVaried|TestReferenceVaried)\/[^/]+\/[^/]+$/)
console.log(`no false alarms: ${varied} seeded runs of the mock and of the reference with legal variations, 0 findings`)
const foreign = count(/^TestForeigners\/[^/]+\/[^/]+$/)
console.log(`foreign servers: ${foreign} of another language, right ones and wrong ones; each judged right`)
for (const key of failed) console.log(`\nFAIL  ${key}\n${(output.get(key) ?? '').slice(-20000)}`)
