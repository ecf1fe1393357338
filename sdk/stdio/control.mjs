// Control messages: signals, sizes, and what is no message.
import assert from 'node:assert/strict'
import { using } from './attach.mjs'

/** Says ready, and exits with code when the signal comes. */
const trapping = (signal, code) => `trap 'echo ${signal}; exit ${code}' ${signal}; echo ready; while :; do sleep 0.02; done`

/** Sends a message that no process must get to see; the session must survive it. */
const harmless = (gateway, send) =>
  using(gateway.sh('echo ready; read a; echo "got $a"'), async (attached) => {
    await attached.shows(/ready/)
    send(attached)
    attached.send('input\n')
    assert.deepEqual(await attached.end(), { code: 0, stdout: 'ready\ngot input\n', stderr: '' })
    return attached
  })

export const calls = {
  'INT, TERM, HUP and USR1 reach the process': async (gateway) => {
    for (const [i, name] of ['INT', 'TERM', 'HUP', 'USR1'].entries()) {
      const attached = gateway.sh(trapping(name, 10 + i))
      await attached.shows(/ready/)
      attached.signal(`SIG${name}`)
      assert.deepEqual(await attached.end(), { code: 10 + i, stdout: `ready\n${name}\n`, stderr: '' })
    }
  },

  'a signal that kills gives an exit code other than 0': async (gateway) => {
    for (const name of ['SIGKILL', 'SIGTERM', 'SIGINT']) {
      const attached = gateway.sh('echo ready; exec sleep 60')
      await attached.shows(/ready/)
      attached.signal(name)
      assert.notEqual((await attached.end()).code, 0)
    }
  },

  'an unknown signal does nothing': async (gateway) => {
    await harmless(gateway, (attached) => attached.signal('SIGNOTHING').signal('int').signal(9).signal(''))
  },

  'an unknown type does nothing': async (gateway) => {
    await harmless(gateway, (attached) => attached.control({ type: 'reboot' }).control({ type: 'exit', code: 5 }))
  },

  'text that is no message is no input': async (gateway) => {
    const texts = ['', 'input of another kind\n', '{', '[]', '7', 'null', '{"type":7}', '{}', 'x'.repeat(100_000), '['.repeat(10_000)]
    await harmless(gateway, (attached) => texts.forEach((t) => attached.control(t)))
  },

  'a size does nothing to a pipe, whatever it is': async (gateway) => {
    await harmless(gateway, (attached) => {
      for (const [cols, rows] of [[132, 43], [0, 0], [65535, 65535], [-1, 1e9], [1.5, 2], ['a', null], [undefined, 3]]) {
        attached.control({ type: 'resize', cols, rows })
      }
    })
  },

  'further members of a message are ignored': async (gateway) => {
    const attached = gateway.sh(trapping('INT', 3))
    await attached.shows(/ready/)
    attached.control({ type: 'signal', signal: 'SIGINT', at: 'once', because: { of: ['this'] } })
    assert.equal((await attached.end()).code, 3)
  },
}
