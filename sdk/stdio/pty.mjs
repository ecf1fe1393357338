// Terminals. A marker is computed by the shell ($((40+2))), so that the echo of
// what was typed is never taken for its output.
import assert from 'node:assert/strict'
import { using } from './attach.mjs'

/** Runs use with a shell in a terminal. */
const withTerminal = (gateway, query, use) => using(gateway.attach('sh', ['-i'], { pty: '1', ...query }), use)

export const calls = {
  'pty: what is typed is echoed and run': (gateway) =>
    withTerminal(gateway, {}, async (attached) => {
      attached.send('echo mark-$((40+2))-end\n')
      await attached.shows(/mark-42-end\r\n/)
      await attached.shows(/echo mark-\$\(\(40\+2\)\)-end/)
    }),

  'pty: all output is stdout, and the exit code comes': (gateway) =>
    withTerminal(gateway, {}, async (attached) => {
      attached.send('echo err-$((1+1)) >&2; exit 7\n')
      const { code, stdout, stderr } = await attached.end()
      assert.match(stdout, /err-2\r\n/)
      assert.deepEqual([code, stderr], [7, ''])
    }),

  'pty: the size is the one of the query, or 80 by 24': async (gateway) => {
    const { stdout: asked } = await gateway.attach('stty', ['size'], { pty: '1', cols: '97', rows: '31' }).end()
    assert.equal(asked, '31 97\r\n')
    const { stdout: usual } = await gateway.attach('stty', ['size'], { pty: '1' }).end()
    assert.equal(usual, '24 80\r\n')
  },

  'pty: a resize is seen, and SIGWINCH sent': (gateway) =>
    using(gateway.sh(`trap 'echo winch-$((1+1)); stty size' WINCH; echo ready; while :; do sleep 0.02; done`, { pty: '1' }), async (attached) => {
      await attached.shows(/ready/)
      attached.control({ type: 'resize', cols: 132, rows: 43 })
      await attached.shows(/winch-2\r\n43 132\r\n/)
      attached.control({ type: 'resize', cols: 0, rows: 43 })
      assert.match((await attached.says('error')).message, /cols/)
    }),

  'pty: ^C interrupts what runs': (gateway) =>
    withTerminal(gateway, {}, async (attached) => {
      attached.send("sh -c 'echo run-$((1+1)); exec sleep 60'\n") // the shell has no part in what ^C interrupts
      await attached.shows(/run-2\r\n/)
      attached.send('\x03')
      attached.send('echo after-$((1+1))\n')
      await attached.shows(/after-2\r\n/)
    }),

  'pty: ^D on an empty line ends the shell': (gateway) =>
    withTerminal(gateway, {}, async (attached) => {
      attached.send('echo ready-$((1+1))\n')
      await attached.shows(/ready-2\r\n/)
      attached.send('\x04')
      assert.equal((await attached.end()).code, 0)
    }),
}
