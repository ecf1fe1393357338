// The official JavaScript SDK against a gateway, call by call.
//
//   node calls.mjs URL MODE [PATTERN]
//
// URL is where the gateway listens, MODE is what its commands are ("virtual" or
// "os") and stands in the summary; only calls whose name matches the regular
// expression PATTERN run. ASSAY_TOKEN, when it is set, is the token
// that the gateway demands.
//
// Stdout is one JSON object per line: {"name","ok","ms","error"} for each call, then
// {"summary":{"mode","sdk","node","calls","failed","ms"}}. Exit code 0 means that every call
// was right, 1 that one was not, 2 that the arguments are wrong.
import { readFileSync } from 'node:fs'
import { Sandbox } from 'e2b'
import { calls as commands } from './calls/commands.mjs'
import { calls as errors, guarded } from './calls/errors.mjs'
import { calls as input } from './calls/input.mjs'
import { calls as limits } from './calls/limits.mjs'
import { calls as processes } from './calls/processes.mjs'
import { calls as pty } from './calls/pty.mjs'
import { Wire } from './calls/tools.mjs'

/** What one call may take before it counts as hung, in milliseconds. */
const CALL_LIMIT_MS = 60_000

/** The last version of the daemon that the SDK knows a difference for. */
const ENVD_VERSION = '0.5.7'

const [url, mode, pattern] = process.argv.slice(2)
if (!url || !['virtual', 'os'].includes(mode)) {
  console.error('usage: node calls.mjs URL virtual|os [PATTERN]')
  process.exit(2)
}
const token = process.env.ASSAY_TOKEN || undefined

/** A client with this token, as the control plane would hand it out. */
const withToken = (envdAccessToken, sandboxUrl = url) =>
  new Sandbox({ sandboxId: 'assay', sandboxUrl, envdVersion: ENVD_VERSION, envdAccessToken, apiKey: `e2b_${'0'.repeat(40)}` })

/** A client of this run: in debug mode where no token is demanded. */
const client = async (sandboxUrl = url) => (token ? withToken(token, sandboxUrl) : Sandbox.create({ debug: true, sandboxUrl }))

/** What a call is given. */
const world = {
  sandbox: await client(),
  withToken,
  /** A second client of the same sandbox. */
  another: async () => (token ? withToken(token) : Sandbox.connect('debug_sandbox_id', { debug: true, sandboxUrl: url })),
  /** A client behind a connection that can be cut; the caller closes the wire. */
  through: async () => {
    const wire = await Wire.to(url)
    return { wire, sandbox: await client(wire.url) }
  },
}

/** Runs one call; a call that left a process running has failed too. */
async function judge(call) {
  const began = performance.now()
  let error
  try {
    await within(CALL_LIMIT_MS, call(world))
  } catch (e) {
    error = e
  }
  const ms = Math.round((performance.now() - began) * 10) / 10
  const left = await clear()
  error ??= left.length > 0 ? new Error(`left running: ${left.join(', ')}`) : undefined
  return { ok: !error, ms, error: error && text(error) }
}

/** What a request of the clearing away may take, in milliseconds. */
const CLEAR_LIMIT_MS = 30_000

/** Kills what still runs, and says what it was. */
async function clear() {
  try {
    const left = await world.sandbox.commands.list({ requestTimeoutMs: CLEAR_LIMIT_MS })
    await Promise.all(left.map((p) => world.sandbox.commands.kill(p.pid, { requestTimeoutMs: CLEAR_LIMIT_MS })))
    return left.map((p) => [p.cmd, ...p.args].join(' ').slice(0, 80))
  } catch (error) {
    return [`the list could not be read: ${text(error)}`]
  }
}

async function within(ms, promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no result after ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The error with the line of the call that it came from, without endless values. */
function text(error) {
  const message = `${error?.constructor?.name ?? 'error'}: ${error?.message ?? error}`
  const short = message.length > 1200 ? `${message.slice(0, 800)} … ${message.slice(-300)}` : message
  const at = /calls\/(?!tools)\w+\.mjs:\d+/.exec(error?.stack ?? '')
  return at ? `${short} (${at[0]})` : short
}

const all = [commands, processes, input, limits, errors, token ? guarded : {}, pty].flatMap(Object.entries)
const wanted = all.filter(([name]) => new RegExp(pattern ?? '').test(name))
const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`)

// An unhandled rejection is a defect of a call or of the SDK: it fails the call that runs.
const stray = []
process.on('unhandledRejection', (error) => stray.push(text(error)))

const began = performance.now()
let failed = 0
for (const [name, call] of wanted) {
  const verdict = await judge(call)
  if (stray.length > 0) {
    verdict.ok = false
    verdict.error = [verdict.error, ...stray.splice(0).map((s) => `unhandled: ${s}`)].filter(Boolean).join('; ')
  }
  if (!verdict.ok) failed++
  print({ name, ...verdict })
}
const sdk = JSON.parse(readFileSync(new URL('node_modules/e2b/package.json', import.meta.url), 'utf8')).version
const ms = Math.round(performance.now() - began)
print({ summary: { mode, sdk, node: process.version, calls: wanted.length, failed, ms } })
// Connections of the SDK's pools would keep the process alive.
process.stdout.write('', () => process.exit(failed > 0 ? 1 : 0))
