// What is sent to a command: stdin, its end, and whom it does not reach.
import assert from 'node:assert/strict'
import { NotFoundError, SandboxError } from 'e2b'
import { rejects, withProcess } from './tools.mjs'

const NOBODY = 4_000_000_000
const INPUT = { stdin: true }

export const calls = {
  'sendStdin reaches a command that reads': ({ sandbox }) =>
    withProcess(sandbox, 'read a; read b; echo "$b $a"', INPUT, async (handle) => {
      await sandbox.commands.sendStdin(handle.pid, 'one\n')
      await handle.sendStdin('two\n')
      assert.equal((await handle.wait()).stdout, 'two one\n')
    }),

  'sendStdin takes bytes as well as text': ({ sandbox }) =>
    withProcess(sandbox, 'cat', INPUT, async (handle) => {
      await handle.sendStdin(new TextEncoder().encode('bytes é '))
      await handle.sendStdin('text 😀')
      await handle.closeStdin()
      assert.equal((await handle.wait()).stdout, 'bytes é text 😀')
    }),

  'fifty pieces of input arrive in order': ({ sandbox }) =>
    withProcess(sandbox, 'cat', INPUT, async (handle) => {
      let want = ''
      for (let i = 0; i < 50; i++) {
        await handle.sendStdin(`${i},`)
        want += `${i},`
      }
      await handle.closeStdin()
      assert.equal((await handle.wait()).stdout, want)
    }),

  'a million bytes of input arrive whole': ({ sandbox }) =>
    withProcess(sandbox, 'wc -c', INPUT, async (handle) => {
      await handle.sendStdin('0123456789abcde\n'.repeat(65536))
      await handle.closeStdin()
      assert.equal((await handle.wait()).stdout.trim(), '1048576')
    }),

  'closeStdin is the end of the input': ({ sandbox }) =>
    withProcess(sandbox, 'cat; echo end', INPUT, async (handle) => {
      await handle.sendStdin('no newline')
      await sandbox.commands.closeStdin(handle.pid)
      assert.equal((await handle.wait()).stdout, 'no newlineend\n')
    }),

  'closeStdin may be called twice': ({ sandbox }) =>
    withProcess(sandbox, 'cat; exec sleep 60', INPUT, async (handle) => {
      await handle.closeStdin()
      await handle.closeStdin()
      assert.equal(await handle.kill(), true)
    }),

  'a connected handle may send and close': ({ sandbox }) =>
    withProcess(sandbox, 'cat', INPUT, async (handle) => {
      const second = await sandbox.commands.connect(handle.pid)
      await second.sendStdin('from the second')
      await second.closeStdin()
      assert.equal((await handle.wait()).stdout, 'from the second')
      assert.equal((await second.wait()).stdout, 'from the second')
    }),

  'sendStdin to a command without stdin is a SandboxError': ({ sandbox }) =>
    withProcess(sandbox, 'exec sleep 60', {}, (handle) => rejects(handle.sendStdin('x'), SandboxError)),

  'sendStdin after closeStdin is a SandboxError': ({ sandbox }) =>
    withProcess(sandbox, 'exec sleep 60', INPUT, async (handle) => {
      await handle.closeStdin()
      await rejects(handle.sendStdin('x'), SandboxError)
    }),

  'sendStdin and closeStdin of a process that never was are a NotFoundError': async ({ sandbox }) => {
    await rejects(sandbox.commands.sendStdin(NOBODY, 'x'), NotFoundError)
    await rejects(sandbox.commands.closeStdin(NOBODY), NotFoundError)
  },

  'sendStdin to a process that has ended is a NotFoundError': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('true', { background: true, stdin: true })
    await handle.wait()
    await rejects(handle.sendStdin('x'), NotFoundError)
  },
}
