// Pings, and frames that RFC 6455 forbids.
import assert from 'node:assert/strict'
import { until } from '../calls/tools.mjs'
import { using } from './attach.mjs'

/** Sends something forbidden to cat. The session must end with code, or without a Close frame, and no byte of it may reach cat. */
async function fatal(gateway, send, want) {
  const attached = gateway.sh('echo ready; cat')
  await attached.shows(/ready/)
  send(attached.ws)
  const { code } = await attached.closed
  assert.ok([want, 1006].includes(code), `the close code is ${code}`)
  assert.equal(attached.stdout.toString(), 'ready\n')
}

export const calls = {
  'pings get pongs with the same payload': (gateway) =>
    using(gateway.sh('read a'), async (attached) => {
      const payloads = ['', 'hello', 'x'.repeat(125), 'last']
      for (const p of payloads) attached.ws.ping(p)
      await until('the last pong', () => attached.pongs.includes('last'), () => attached.pongs)
      assert.deepEqual(attached.pongs.filter((p) => payloads.includes(p)), payloads)
      attached.ws.pong('unsolicited')
      attached.send('\n')
      assert.equal((await attached.end()).code, 0)
    }),

  'a ping is answered while output floods': (gateway) =>
    using(gateway.sh('exec yes'), async (attached) => {
      for (const n of ['1', '2', '3']) {
        await until('more output', () => attached.stdout.length > Number(n) * 100_000)
        attached.ws.ping(n)
        await until(`pong ${n}`, () => attached.pongs.includes(n), () => attached.pongs)
      }
      assert.equal(attached.exit, undefined)
    }),

  'an unmasked frame ends the session': (gateway) => fatal(gateway, (ws) => ws.send(Buffer.from('unmasked'), { mask: false }), 1002),

  'text that is not UTF-8 ends the session': (gateway) => fatal(gateway, (ws) => ws.send(Buffer.from([0xc3, 0x28]), { binary: false }), 1007),

  'a message that is too big ends the session': (gateway) => fatal(gateway, (ws) => ws.send(Buffer.alloc((1 << 20) + 1)), 1009),
}
