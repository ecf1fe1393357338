// What is sent to a command: stdin, its end, and what only looks like a message.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { using } from './attach.mjs'

/** Passes count bytes of stdin on, then exits. */
const pass = (count) => `head -c ${count}`

export const calls = {
  'two hundred messages arrive in order': (gateway) => {
    const want = Array.from({ length: 200 }, (_, i) => `${i},`)
    return using(gateway.sh(pass(want.join('').length)), async (attached) => {
      for (const piece of want) attached.send(piece)
      assert.equal((await attached.end()).stdout, want.join(''))
    })
  },

  'every byte value arrives as it was sent': (gateway) => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, i) => 255 - i))
    return using(gateway.sh(pass(all.length)), async (attached) => {
      attached.send(all)
      await attached.end()
      assert.deepEqual(attached.stdout, all)
    })
  },

  'a megabyte there and back is the same': (gateway) => {
    const sent = randomBytes(1 << 20)
    return using(gateway.sh(pass(sent.length)), async (attached) => {
      for (let at = 0; at < sent.length; at += 1 << 15) attached.send(sent.subarray(at, at + (1 << 15)))
      await attached.end()
      assert.ok(attached.stdout.equals(sent), `${attached.stdout.length} bytes came back, or others`)
    })
  },

  'JSON in a binary message is input': (gateway) => {
    const text = '{"type":"signal","signal":"SIGKILL"}'
    return using(gateway.sh(pass(text.length)), async (attached) => {
      attached.send(text)
      assert.deepEqual(await attached.end(), { code: 0, stdout: text, stderr: '' })
    })
  },

  'an empty message is nothing': (gateway) =>
    using(gateway.sh('read a; echo "$a"'), async (attached) => {
      attached.send('').send('not the end').send('').send('\n')
      assert.equal((await attached.end()).stdout, 'not the end\n')
    }),

  'a message in fragments with a ping between them is one message': (gateway) =>
    using(gateway.sh('read a; echo "$a"'), async (attached) => {
      attached.ws.send(Buffer.from('one '), { fin: false })
      attached.ws.ping('between')
      attached.ws.send(Buffer.from(''), { fin: false })
      attached.ws.send(Buffer.from('two\n'), { fin: true })
      assert.equal((await attached.end()).stdout, 'one two\n')
      assert.ok(attached.pongs.includes('between'), 'the ping got no pong')
    }),

  'input that nobody reads does no harm': (gateway) =>
    using(gateway.sh('exec <&-; trap "exit 5" USR1; echo closed; while :; do sleep 0.02; done'), async (attached) => {
      await attached.shows(/closed/)
      for (let i = 0; i < 20; i++) attached.send('unread\n')
      attached.signal('SIGUSR1')
      assert.equal((await attached.end()).code, 5)
    }),
}

/** Calls for a gateway that has the message eof. */
export const ended = {
  'eof ends stdin behind what was sent': (gateway) =>
    using(gateway.sh('cat; echo end'), async (attached) => {
      attached.send('no newline').eof()
      assert.equal((await attached.end()).stdout, 'no newlineend\n')
    }),

  'eof without input ends stdin': (gateway) =>
    using(gateway.sh('wc -c'), async (attached) => {
      attached.eof()
      assert.equal((await attached.end()).stdout.trim(), '0')
    }),

  'a second eof is ignored, and input behind it is an error': (gateway) =>
    using(gateway.sh('cat; trap "exit 6" USR1; echo end; while :; do sleep 0.02; done'), async (attached) => {
      attached.eof().eof()
      await attached.shows(/^end/)
      assert.deepEqual(attached.texts, [])
      attached.send('late')
      assert.match((await attached.says('error')).message, /stdin/)
      attached.signal('SIGUSR1')
      assert.equal((await attached.end()).stdout, 'end\n')
    }),
}
