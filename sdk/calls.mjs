// The official JavaScript SDK against a gateway, call by call.
//
//   node calls.mjs URL MODE [PATTERN]
//
// URL is where the gateway listens, MODE is what its commands are ("virtual" or
// "os") and stands in the summary; only calls whose name matches the regular
// expression PATTERN run. ASSAY_TOKEN, when it is set, is the token
// that the gateway demands. run.mjs says what is printed.
import { Sandbox } from 'e2b'
import { calls as commands } from './calls/commands.mjs'
import { calls as errors, guarded } from './calls/errors.mjs'
import { calls as files, overHTTP1 } from './calls/files.mjs'
import { calls as input } from './calls/input.mjs'
import { calls as limits } from './calls/limits.mjs'
import { calls as processes } from './calls/processes.mjs'
import { calls as pty } from './calls/pty.mjs'
import { Wire } from './calls/tools.mjs'
import { calls as users, owners, signed } from './calls/users.mjs'
import { calls as watch } from './calls/watch.mjs'
import { byHand } from './run.mjs'

/** The last version of the daemon that the SDK knows a difference for. */
const ENVD_VERSION = '0.6.4'

/** What a request of the clearing away may take, in milliseconds. */
const CLEAR_LIMIT_MS = 30_000

async function open({ url, mode, token }) {
  /** A client with this token, as the control plane would hand it out. */
  const withToken = (envdAccessToken, sandboxUrl = url) =>
    new Sandbox({ sandboxId: 'assay', sandboxUrl, envdVersion: ENVD_VERSION, envdAccessToken, apiKey: `e2b_${'0'.repeat(40)}` })

  /** A client of this run: in debug mode where no token is demanded. */
  const client = async (sandboxUrl = url) => (token ? withToken(token, sandboxUrl) : Sandbox.create({ debug: true, sandboxUrl }))

  const sandbox = await client()
  const world = {
    sandbox,
    withToken,
    /** A second client of the same sandbox. */
    another: async () => (token ? withToken(token) : Sandbox.connect('debug_sandbox_id', { debug: true, sandboxUrl: url })),
    /** A client behind a connection that can be cut; the caller closes the wire. */
    through: async () => {
      const wire = await Wire.to(url)
      return { wire, sandbox: await client(wire.url) }
    },
  }

  /** Kills what still runs, and returns what it was. */
  async function clear() {
    const left = await sandbox.commands.list({ requestTimeoutMs: CLEAR_LIMIT_MS })
    await Promise.all(left.map((p) => sandbox.commands.kill(p.pid, { requestTimeoutMs: CLEAR_LIMIT_MS })))
    return left.map((p) => [p.cmd, ...p.args].join(' '))
  }

  // The gateway with TLS speaks HTTP/2 alone here. Node's own fetch, which opens signed URLs, does not.
  const overHTTP2 = url.startsWith('https:')

  const calls = [commands, processes, input, limits, errors, pty, files, watch, users, mode === 'virtual' ? owners : {}, ...(token ? [guarded] : []), ...(overHTTP2 ? [] : [overHTTP1, ...(token ? [signed] : [])])]
  return { calls, world, clear }
}

export const program = { client: 'e2b', modes: ['virtual', 'os'], open }

await byHand(import.meta.url, program)
