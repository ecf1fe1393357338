// All programs as one process, for runs that go on side by side.
//
// Each line of stdin begins a run: {"id","file","url","mode","pattern","token"}. Stdout is one JSON object per line with the id of its
// run: {"begins"} when a call begins, what run.mjs prints, or {"broken"}, the error of a run that did not come to its end.
import { createInterface } from 'node:readline'
import { program as sdk } from './calls.mjs'
import { program as interpreter } from './execute.mjs'
import { printLine, run, text } from './run.mjs'
import { program as sandboxes } from './sandboxes.mjs'
import { program as stdio } from './stdio.mjs'

const programs = { 'calls.mjs': sdk, 'execute.mjs': interpreter, 'sandboxes.mjs': sandboxes, 'stdio.mjs': stdio }

for await (const line of createInterface({ input: process.stdin })) {
  const { id, file, token, ...asked } = JSON.parse(line)
  run(programs[file], { token: token || undefined, ...asked }, (value) => printLine({ id, ...value }))
    .catch((error) => printLine({ id, broken: text(error) }))
}
// Connections of a pool would keep the process alive.
process.exit(0)
