// The official client of the code interpreter against a gateway, call by call.
//
//   node execute.mjs URL own|bare [PATTERN]
//
// own makes all calls, bare only those whose code every interpreter of Python runs. run.mjs says what is printed.
import { Sandbox } from '@e2b/code-interpreter'
import { calls, own } from './calls/execute.mjs'
import { byHand } from './run.mjs'

async function open({ url, mode }) {
  const sandbox = await Sandbox.create({ debug: true, sandboxUrl: url })
  const kept = new Set((await sandbox.listCodeContexts()).map((c) => c.id))

  /** Removes the contexts that are left over, and returns what they were. */
  async function clear() {
    const left = (await sandbox.listCodeContexts()).filter((c) => !kept.has(c.id))
    await Promise.all(left.map((c) => sandbox.removeCodeContext(c)))
    return left.map((c) => `context ${c.id}`)
  }

  return { calls: [calls, mode === 'own' ? own : {}], world: { sandbox }, clear }
}

export const program = { client: '@e2b/code-interpreter', modes: ['own', 'bare'], open }

await byHand(import.meta.url, program)
