// Time limits, and calls that are given up.
import assert from 'node:assert/strict'
import { SandboxError, TimeoutError } from 'e2b'
import { failure, isListed, rejects, unlisted, until, withProcess } from './tools.mjs'

const SLEEP = 'exec sleep 60'

export const calls = {
  'timeoutMs is a TimeoutError, and the process ends in the sandbox': async ({ sandbox }) => {
    // Long enough for a machine that stands still for two seconds to run the echo.
    const handle = await sandbox.commands.run(`echo before; ${SLEEP}`, { background: true, timeoutMs: 2500 })
    await rejects(handle.wait(), TimeoutError, /deadline_exceeded/)
    assert.equal(handle.stdout, 'before\n')
    await unlisted(sandbox, handle.pid)
    assert.equal(await sandbox.commands.kill(handle.pid), false)
  },

  'timeoutMs of a foreground run': async ({ sandbox }) => {
    // Two seconds, so that the process has begun by then: one that begins later is not in the list yet.
    await rejects(sandbox.commands.run(SLEEP, { timeoutMs: 2000 }), TimeoutError, /timeoutMs/)
    // The client's clock began before the gateway's, so the list may be a little behind.
    await until('the list to be empty', async () => (await sandbox.commands.list()).length === 0)
  },

  'timeoutMs that is not reached changes nothing': async ({ sandbox }) => {
    assert.equal((await sandbox.commands.run('sleep 0.1; echo x', { timeoutMs: 5000 })).stdout, 'x\n')
  },

  'timeoutMs 0 sets no limit': async ({ sandbox }) => {
    assert.equal((await sandbox.commands.run('sleep 0.3; echo x', { timeoutMs: 0 })).stdout, 'x\n')
  },

  'timeoutMs of connect ends the stream and not the process': ({ sandbox }) =>
    withProcess(sandbox, SLEEP, {}, async (handle) => {
      // Where all of it passes before the start event comes, it is connect that says so.
      const second = sandbox.commands.connect(handle.pid, { timeoutMs: 200 })
      await rejects(second.then((h) => h.wait()), TimeoutError)
      assert.ok(await isListed(sandbox, handle.pid))
      assert.equal(await handle.kill(), true)
    }),

  'an AbortSignal gives up the stream and not the process': ({ sandbox }) => {
    const abort = new AbortController()
    return withProcess(sandbox, `echo up; ${SLEEP}`, { signal: abort.signal }, async (handle) => {
      await until('the first line', () => handle.stdout === 'up\n', () => handle.stdout)
      abort.abort()
      assert.ok(await failure(handle.wait()))
      assert.ok(await isListed(sandbox, handle.pid))
    })
  },

  'a gateway that hangs up is a SandboxError, and the process lives on': async ({ sandbox, through }) => {
    const { sandbox: far, wire } = await through()
    try {
      await withProcess(far, 'echo up; read line; echo "got $line"', { stdin: true }, async (handle) => {
        await until('the first line', () => handle.stdout === 'up\n', () => handle.stdout)
        wire.hangUp()
        await rejects(handle.wait(), SandboxError, /terminated/)
        assert.ok(await isListed(sandbox, handle.pid))
        const again = await far.commands.connect(handle.pid)
        await again.sendStdin('after\n')
        assert.equal((await again.wait()).stdout, 'got after\n')
      })
    } finally {
      wire.close()
    }
  },
}
