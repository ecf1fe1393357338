// The end that the client brings, and processes as the process service sees them.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { until } from '../calls/tools.mjs'
import { using } from './attach.mjs'

/** Leaves a process by leave. It must get SIGTERM: its trap leaves a file, which another process sees. */
async function terminated(gateway, leave) {
  const file = `/tmp/assay-stdio-${randomUUID()}`
  const attached = gateway.sh(`trap 'echo TERM >${file}; exit' TERM; echo ready; while :; do sleep 0.02; done`)
  await attached.shows(/ready/)
  const left = await leave(attached)
  await until('the trap of the process', async () => (await gateway.run(`cat ${file}`)).stdout === 'TERM\n')
  await gateway.run(`exec rm -f ${file}`)
  return left
}

export const calls = {
  'a client that closes ends the process with SIGTERM, and its code is answered': async (gateway) => {
    assert.deepEqual(await terminated(gateway, (attached) => attached.leave(3001, 'bye')), { code: 3001, reason: 'bye' })
  },

  'a client that vanishes ends the process with SIGTERM': (gateway) => terminated(gateway, (attached) => attached.ws.terminate()),

  'a client that vanishes while output floods ends the process': async (gateway) => {
    const attached = gateway.sh('exec yes')
    await attached.shows(/y/)
    attached.ws.terminate()
    await attached.closed // that no process is left is checked after every call
  },
}

/** Calls for a gateway with the process service. */
export const listed = {
  'the list has a process while it runs': async (gateway) => {
    const word = `word-${randomUUID()}`
    await using(gateway.sh('echo ready; read a', {}, word), async (attached) => {
      await attached.shows(/ready/)
      assert.ok(await gateway.pid(word), 'the process is not in the list')
      attached.send('\n')
      await attached.end()
      assert.equal(await gateway.pid(word), undefined)
    })
  },

  'a process that the process service kills ends its session': async (gateway) => {
    const word = `word-${randomUUID()}`
    const attached = gateway.sh('echo ready; read a', {}, word)
    await attached.shows(/ready/)
    await gateway.kill(await gateway.pid(word))
    assert.notEqual((await attached.end()).code, 0)
  },
}
