// Processes in the background: handles, the list, kill, connect, disconnect.
import assert from 'node:assert/strict'
import { CommandExitError, NotFoundError } from 'e2b'
import { isListed, rejects, until, withProcess } from './tools.mjs'

const SLEEP = 'exec sleep 60'

/** A pid that no process of the sandbox has. */
const NOBODY = 4_000_000_000

/** What a gateway may give for the exit code of a process that SIGKILL ended. */
const KILLED = [-1, 9, 137]

export const calls = {
  'a background run returns before the end, and wait returns the result': ({ sandbox }) =>
    withProcess(sandbox, 'read line; echo "got $line"', { stdin: true }, async (handle) => {
      assert.ok(Number.isInteger(handle.pid) && handle.pid > 0, `pid is ${handle.pid}`)
      assert.equal(handle.exitCode, undefined)
      await handle.sendStdin('x\n')
      const result = await handle.wait()
      assert.equal(result.stdout, 'got x\n')
      assert.equal(handle.exitCode, 0)
      assert.deepEqual(await handle.wait(), result, 'wait gives something else the second time')
    }),

  'kill is true for a running process and false afterwards': ({ sandbox }) =>
    withProcess(sandbox, SLEEP, {}, async (handle) => {
      assert.equal(await handle.kill(), true)
      assert.equal(await handle.kill(), false)
      assert.equal(await sandbox.commands.kill(handle.pid), false)
    }),

  'a killed process ends with an exit code for SIGKILL and "signal: killed"': ({ sandbox }) =>
    withProcess(sandbox, SLEEP, {}, async (handle) => {
      assert.equal(await sandbox.commands.kill(handle.pid), true)
      const error = await rejects(handle.wait(), CommandExitError)
      assert.ok(KILLED.includes(error.exitCode), `the exit code is ${error.exitCode}`)
      assert.equal(error.error, 'signal: killed')
    }),

  'kill of a process that never was is false': async ({ sandbox }) => {
    assert.equal(await sandbox.commands.kill(NOBODY), false)
  },

  'kill of a process that has ended is false': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('true', { background: true })
    await handle.wait()
    assert.equal(await handle.kill(), false)
  },

  'the list has a running process exactly as it was asked for': ({ sandbox }) =>
    withProcess(sandbox, SLEEP, { cwd: '/tmp', envs: { COLOUR: 'blue' } }, async (handle) => {
      const found = (await sandbox.commands.list()).filter((p) => p.pid === handle.pid)
      assert.deepEqual(found, [{
        pid: handle.pid, cmd: '/bin/bash', args: ['-l', '-c', SLEEP], envs: { COLOUR: 'blue' }, cwd: '/tmp',
      }])
    }),

  'the list has nothing that has ended': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('echo x', { background: true })
    await handle.wait()
    assert.equal(await isListed(sandbox, handle.pid), false)
  },

  'the list has nothing that was killed': ({ sandbox }) =>
    withProcess(sandbox, SLEEP, {}, async (handle) => {
      assert.ok(await isListed(sandbox, handle.pid))
      await handle.kill()
      assert.equal(await isListed(sandbox, handle.pid), false)
    }),

  'connect gives a second handle that sees what comes from then on': ({ sandbox }) =>
    withProcess(sandbox, 'echo first; read a; echo second; exit 3', { stdin: true }, async (handle) => {
      await until('the first line', () => handle.stdout === 'first\n', () => handle.stdout)
      const seen = []
      const second = await sandbox.commands.connect(handle.pid, { onStdout: (piece) => seen.push(piece) })
      assert.equal(second.pid, handle.pid)
      await second.sendStdin('\n')
      const errors = await Promise.all([rejects(handle.wait(), CommandExitError), rejects(second.wait(), CommandExitError)])
      assert.deepEqual(errors.map((e) => e.exitCode), [3, 3])
      assert.equal(handle.stdout, 'first\nsecond\n')
      assert.equal(second.stdout, 'second\n')
      assert.equal(seen.join(''), 'second\n')
    }),

  'a second client reaches what the first has started': ({ sandbox, another }) =>
    withProcess(sandbox, SLEEP, {}, async (handle) => {
      const other = await another()
      const second = await other.commands.connect(handle.pid)
      assert.equal(await second.kill(), true)
      assert.equal((await rejects(handle.wait(), CommandExitError)).exitCode, -1)
      assert.equal((await rejects(second.wait(), CommandExitError)).exitCode, -1)
    }),

  'connect after the end still gives the exit code': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('exit 5', { background: true })
    await rejects(handle.wait(), CommandExitError)
    const late = await sandbox.commands.connect(handle.pid)
    assert.equal((await rejects(late.wait(), CommandExitError)).exitCode, 5)
    assert.equal(late.stdout, '')
  },

  'connect to a process that never was is a NotFoundError': ({ sandbox }) =>
    rejects(sandbox.commands.connect(NOBODY), NotFoundError),

  'disconnect does not kill': ({ sandbox }) =>
    withProcess(sandbox, 'read line; echo "got $line"', { stdin: true }, async (handle) => {
      await handle.disconnect()
      assert.ok(await isListed(sandbox, handle.pid), 'it is no longer listed')
      const again = await sandbox.commands.connect(handle.pid)
      await again.sendStdin('still here\n')
      assert.equal((await again.wait()).stdout, 'got still here\n')
    }),

  'one handle that disconnects leaves the other alone': ({ sandbox }) =>
    withProcess(sandbox, 'while read line; do echo "<$line>"; done', { stdin: true }, async (handle) => {
      const second = await sandbox.commands.connect(handle.pid)
      await second.disconnect()
      await handle.sendStdin('a\nb\n')
      await handle.closeStdin()
      assert.equal((await handle.wait()).stdout, '<a>\n<b>\n')
    }),

  'twenty runs at once keep to their own output': async ({ sandbox }) => {
    const runs = Array.from({ length: 20 }, async (_, i) => {
      const result = await sandbox.commands.run(`for j in 1 2 3; do echo run-${i}-$j; done; echo err-${i} >&2`)
      assert.equal(result.stdout, `run-${i}-1\nrun-${i}-2\nrun-${i}-3\n`)
      assert.equal(result.stderr, `err-${i}\n`)
      return result.exitCode
    })
    assert.deepEqual(await Promise.all(runs), Array(20).fill(0))
  },

  'twenty processes at once are twenty in the list': async ({ sandbox }) => {
    const handles = await Promise.all(Array.from({ length: 20 }, () => sandbox.commands.run(SLEEP, { background: true })))
    const pids = new Set(handles.map((h) => h.pid))
    try {
      assert.equal(pids.size, 20, 'two processes have one pid')
      assert.equal((await sandbox.commands.list()).filter((p) => pids.has(p.pid)).length, 20)
    } finally {
      assert.deepEqual(await Promise.all(handles.map((h) => h.kill())), Array(20).fill(true))
    }
  },

  'a long-lived process is not disturbed by short ones beside it': ({ sandbox }) =>
    withProcess(sandbox, 'while read line; do echo "<$line>"; done', { stdin: true }, async (long) => {
      let want = ''
      for (let i = 0; i < 5; i++) {
        assert.equal((await sandbox.commands.run(`echo ${i}`)).stdout, `${i}\n`)
        await long.sendStdin(`${i}\n`)
        want += `<${i}>\n`
        await until(`line ${i} of the long-lived process`, () => long.stdout === want, () => long.stdout)
      }
      await long.closeStdin()
      assert.equal((await long.wait()).stdout, want)
    }),
}
