// Terminals. A marker is computed by the shell ($((40+2))), so that the echo of
// what was typed is never taken for its output.
import assert from 'node:assert/strict'
import { CommandExitError, NotFoundError, SandboxError, TimeoutError } from 'e2b'
import { isListed, rejects, Screen, unlisted, until } from './tools.mjs'

/** Runs use with a terminal of 80 by 24, which is killed afterwards. */
async function withTerminal(sandbox, options, use) {
  const screen = new Screen()
  const handle = await sandbox.pty.create({ cols: 80, rows: 24, onData: screen.onData, ...options })
  const type = (text) => sandbox.pty.sendInput(handle.pid, new TextEncoder().encode(text))
  try {
    return await use({ handle, screen, type })
  } finally {
    await sandbox.pty.kill(handle.pid)
  }
}

export const calls = {
  'pty: what is typed is echoed and run': ({ sandbox }) =>
    withTerminal(sandbox, {}, async ({ screen, type }) => {
      await type('echo mark-$((40+2))-end\n')
      await screen.shows(/mark-42-end\r\n/)
      assert.ok(screen.text.includes('echo mark-$((40+2))-end'), 'the typed line is echoed')
    }),

  'pty: output is neither stdout nor stderr': ({ sandbox }) =>
    withTerminal(sandbox, {}, async ({ handle, screen, type }) => {
      await type('echo out-$((1+1)); echo err-$((1+1)) >&2\n')
      await screen.shows(/out-2\r\n[^]*err-2\r\n/)
      assert.equal(handle.stdout, '')
      assert.equal(handle.stderr, '')
    }),

  'pty: the size is the one that was asked for': ({ sandbox }) =>
    withTerminal(sandbox, { cols: 97, rows: 31 }, async ({ screen, type }) => {
      await type('stty size\n')
      await screen.shows(/31 97\r\n/)
    }),

  'pty: resize is seen by the shell': ({ sandbox }) =>
    withTerminal(sandbox, {}, async ({ handle, screen, type }) => {
      await type('stty size\n')
      await screen.shows(/24 80\r\n/)
      await sandbox.pty.resize(handle.pid, { cols: 132, rows: 43 })
      await type('stty size\n')
      await screen.shows(/43 132\r\n/)
    }),

  'pty: exit gives its exit code': ({ sandbox }) =>
    withTerminal(sandbox, {}, async ({ handle, screen, type }) => {
      await type('echo ready-$((1+1)); exit 7\n')
      const error = await rejects(handle.wait(), CommandExitError)
      assert.equal(error.exitCode, 7)
      await screen.shows(/ready-2/)
      await unlisted(sandbox, handle.pid)
    }),

  'pty: ^D on an empty line ends the shell': ({ sandbox }) =>
    withTerminal(sandbox, {}, async ({ handle, screen, type }) => {
      // Once the prompt is there, the shell reads keys and not a line.
      await type("PS1='ready-''now> '\n")
      await screen.shows(/ready-now> /)
      await type('\x04')
      assert.equal((await handle.wait()).exitCode, 0)
    }),

  'pty: ^C interrupts the command and not the shell': ({ sandbox }) =>
    withTerminal(sandbox, {}, async ({ screen, type }) => {
      // The command says that it has begun: a shell may miss a ^C that comes before it has started its command.
      await type("sh -c 'echo begun-$((1+1)); exec sleep 60'; echo never-$((1+1))\n")
      await screen.shows(/begun-2\r\n/)
      await type('\x03')
      await type('echo after-$((1+1))\n')
      await screen.shows(/after-2\r\n/)
      assert.ok(!screen.text.includes('never-2'), 'the rest of the interrupted line does not run')
    }),

  'pty: kill is true, then false, and the exit code is -1': ({ sandbox }) =>
    withTerminal(sandbox, {}, async ({ handle }) => {
      assert.equal(await sandbox.pty.kill(handle.pid), true)
      assert.equal(await sandbox.pty.kill(handle.pid), false)
      const error = await rejects(handle.wait(), CommandExitError)
      assert.equal(error.exitCode, -1)
      assert.equal(error.error, 'signal: killed')
    }),

  'pty: it is listed as it was started': ({ sandbox }) =>
    withTerminal(sandbox, { cwd: '/tmp', envs: { COLOUR: 'blue' } }, async ({ handle, screen, type }) => {
      const found = (await sandbox.commands.list()).filter((p) => p.pid === handle.pid)
      assert.deepEqual(found, [{
        pid: handle.pid, cmd: '/bin/bash', args: ['-i', '-l'], cwd: '/tmp',
        envs: { COLOUR: 'blue', TERM: 'xterm-256color', LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' },
      }])
      await type('echo "<$COLOUR $TERM $(pwd)>"\n')
      await screen.shows(/<blue xterm-256color \/tmp>\r\n/)
    }),

  'pty: a second handle sees what comes from then on': ({ sandbox }) =>
    withTerminal(sandbox, {}, async ({ handle, screen, type }) => {
      await type('echo one-$((1+1))\n')
      await screen.shows(/one-2\r\n/)
      const late = new Screen()
      const second = await sandbox.pty.connect(handle.pid, { onData: late.onData })
      await type('echo two-$((1+1))\n')
      await Promise.all([screen.shows(/two-2\r\n/), late.shows(/two-2\r\n/)])
      assert.ok(!late.text.includes('one-2'), 'nothing is replayed')
      assert.equal(await second.kill(), true)
      assert.equal((await rejects(second.wait(), CommandExitError)).exitCode, -1)
    }),

  'pty: disconnect does not kill': ({ sandbox }) =>
    withTerminal(sandbox, {}, async ({ handle, type }) => {
      await handle.disconnect()
      assert.ok(await isListed(sandbox, handle.pid))
      const late = new Screen()
      await sandbox.pty.connect(handle.pid, { onData: late.onData })
      await type('echo back-$((1+1))\n')
      await late.shows(/back-2\r\n/)
    }),

  'pty: timeoutMs is a TimeoutError, and the shell ends': async ({ sandbox }) => {
    // Where all of it passes before the start event comes, it is create that says so.
    await rejects(withTerminal(sandbox, { timeoutMs: 400 }, ({ handle }) => handle.wait()), TimeoutError)
    await until('the list to be empty', async () => (await sandbox.commands.list()).length === 0)
  },

  'pty: Unicode in both directions': ({ sandbox }) =>
    withTerminal(sandbox, {}, async ({ screen, type }) => {
      await type("printf '<%s>\\n' 'é€😀'\n")
      await screen.shows(/<é€😀>\r\n/)
    }),

  'pty: a long output arrives whole': ({ sandbox }) =>
    withTerminal(sandbox, {}, async ({ screen, type }) => {
      await type('echo from-$((1+1)); seq 1 5000; echo to-$((1+1))\n')
      await screen.shows(/to-2\r\n/)
      const want = Array.from({ length: 5000 }, (_, i) => `${i + 1}\r\n`).join('')
      const body = /from-2\r\n([^]*)to-2\r\n/.exec(screen.text)[1]
      assert.ok(body === want, `${body.length} characters between the marks, want ${want.length}`)
    }),

  'pty: stdin is not how a terminal is typed at': ({ sandbox }) =>
    withTerminal(sandbox, {}, ({ handle }) => rejects(sandbox.commands.sendStdin(handle.pid, 'x'), SandboxError)),

  'pty: what needs a terminal is refused for a command': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('exec sleep 60', { background: true, stdin: true })
    try {
      await rejects(sandbox.pty.resize(handle.pid, { cols: 100, rows: 30 }), SandboxError)
      await rejects(sandbox.pty.sendInput(handle.pid, new Uint8Array([120])), SandboxError)
    } finally {
      await handle.kill()
    }
  },

  'pty: calls to a terminal that never was': async ({ sandbox }) => {
    const nobody = 4_000_000_000
    await rejects(sandbox.pty.resize(nobody, { cols: 100, rows: 30 }), NotFoundError)
    await rejects(sandbox.pty.sendInput(nobody, new Uint8Array([120])), NotFoundError)
    await rejects(sandbox.pty.connect(nobody), NotFoundError)
    assert.equal(await sandbox.pty.kill(nobody), false)
  },
}
