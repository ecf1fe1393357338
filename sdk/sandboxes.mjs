// The official JavaScript SDK against a control plane, call by call: calls about sandboxes,
// and all calls of calls.mjs and execute.mjs inside a sandbox that the SDK has created.
//
//   node sandboxes.mjs URL MODE [PATTERN]
//
// URL is where the control plane and its sandboxes listen, MODE is what their commands are
// ("virtual" or "os"). ASSAY_TOKEN, when it is set, is the API key. run.mjs says what is printed.
import { Sandbox } from 'e2b'
import { Sandbox as Interpreter } from '@e2b/code-interpreter'
import { calls as commands } from './calls/commands.mjs'
import { calls as errors, guarded } from './calls/errors.mjs'
import { calls as execute, own } from './calls/execute.mjs'
import { calls as files, overHTTP1 } from './calls/files.mjs'
import { calls as input } from './calls/input.mjs'
import { calls as limits } from './calls/limits.mjs'
import { calls as processes } from './calls/processes.mjs'
import { calls as pty } from './calls/pty.mjs'
import { calls as sandboxes, keyed, limited } from './calls/sandboxes.mjs'
import { Wire } from './calls/tools.mjs'
import { calls as users, owners, signed } from './calls/users.mjs'
import { calls as watch } from './calls/watch.mjs'
import { byHand } from './run.mjs'

/** How long a sandbox of the run may live: longer than the run. */
const LIFE = { timeoutMs: 30 * 60_000 }

/** Every sandbox of the control plane. */
async function allSandboxes() {
  const all = []
  for (const list = Sandbox.list(); list.hasNext;) all.push(...(await list.nextItems()))
  return all
}

async function open({ url, mode, token }) {
  process.env.E2B_API_URL = url
  process.env.E2B_SANDBOX_URL = url
  process.env.E2B_API_KEY = token ?? `e2b_${'0'.repeat(40)}`

  const sandbox = await Sandbox.create(LIFE)
  const interpreter = await Interpreter.create(LIFE)
  const kept = new Set((await allSandboxes()).map((s) => s.sandboxId))
  const contexts = new Set((await interpreter.listCodeContexts()).map((c) => c.id))
  const { envdVersion } = await sandbox.getInfo()

  /** A client of a sandbox with any token. */
  const clientOf = (sandboxId, envdAccessToken) => new Sandbox({ sandboxId, envdVersion, envdAccessToken })

  const world = {
    sandbox,
    clientOf,
    withToken: (envdAccessToken) => clientOf(sandbox.sandboxId, envdAccessToken),
    another: () => Sandbox.connect(sandbox.sandboxId),
    through: async () => {
      const wire = await Wire.to(url)
      return { wire, sandbox: await Sandbox.connect(sandbox.sandboxId, { sandboxUrl: wire.url }) }
    },
  }

  /** The calls of the code interpreter, inside a sandbox of its template. */
  const inside = (calls) => Object.fromEntries(Object.entries(calls).map(([name, call]) => [`execute: ${name}`, () => call({ sandbox: interpreter })]))

  /** Ends what a call left: sandboxes, processes and contexts; returns what it was. */
  async function clear() {
    const left = (await allSandboxes()).filter((s) => !kept.has(s.sandboxId))
    await Promise.all(left.map((s) => Sandbox.kill(s.sandboxId)))
    const running = await sandbox.commands.list()
    await Promise.all(running.map((p) => sandbox.commands.kill(p.pid)))
    const open = (await interpreter.listCodeContexts()).filter((c) => !contexts.has(c.id))
    await Promise.all(open.map((c) => interpreter.removeCodeContext(c)))
    return [...left.map((s) => `sandbox ${s.sandboxId}`), ...running.map((p) => [p.cmd, ...p.args].join(' ')), ...open.map((c) => `context ${c.id}`)]
  }

  const calls = [
    sandboxes, token ? keyed : {}, mode === 'virtual' ? limited : {},
    commands, processes, input, limits, errors, guarded, pty, files, overHTTP1, watch, users, mode === 'virtual' ? owners : {}, signed,
    inside(execute), inside(own),
  ]

  const end = () => Promise.all([sandbox.kill(), interpreter.kill()])
  return { calls, world, clear, end }
}

export const program = { client: 'e2b', modes: ['virtual', 'os'], open }

await byHand(import.meta.url, program)
