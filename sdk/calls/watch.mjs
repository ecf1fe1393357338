// Watching directories: what happens is told, under its name.
import assert from 'node:assert/strict'
import { FilesystemEventType as Type } from 'e2b'
import { inDirectory } from './files.mjs'
import { until } from './tools.mjs'

/** Watches dir while use runs, which is given what was seen and how to wait for more. */
async function watching(files, dir, options, use) {
  const events = []
  const exits = []
  const handle = await files.watchDir(dir, (event) => { events.push(event) }, { timeoutMs: 0, ...options, onExit: (error) => { exits.push(error) } })
  const tell = () => events.map((e) => `${e.type} ${e.name}`)
  const saw = (type, name) => until(`${type} ${name}`, () => events.find((e) => e.type === type && e.name === name), tell)
  try {
    await use({ events, exits, handle, saw })
  } finally {
    await handle.stop()
  }
}

export const calls = {
  'watch: a file is created, written, renamed and removed': inDirectory(({ files, dir }) =>
    watching(files, dir, {}, async ({ events, saw }) => {
      await files.write(`${dir}/f`, 'x')
      await saw(Type.CREATE, 'f')
      await saw(Type.WRITE, 'f')
      await files.rename(`${dir}/f`, `${dir}/g`)
      await saw(Type.RENAME, 'f')
      await saw(Type.CREATE, 'g')
      await files.remove(`${dir}/g`)
      await saw(Type.REMOVE, 'g')
      assert.ok(events.every((e) => e.entry === undefined), 'no entry comes unasked')
    })),

  'watch: a command that writes and changes the mode is seen': inDirectory(({ files, dir, sandbox }) =>
    watching(files, dir, {}, async ({ saw }) => {
      await sandbox.commands.run('echo x > f; chmod 600 f', { cwd: dir })
      await saw(Type.CREATE, 'f')
      await saw(Type.WRITE, 'f')
      await saw(Type.CHMOD, 'f')
    })),

  'watch: a directory below is seen only with recursive': inDirectory(async ({ files, dir }) => {
    await files.makeDir(`${dir}/sub`)
    await watching(files, dir, {}, async ({ events, saw }) => {
      await watching(files, dir, { recursive: true }, async ({ saw: sawBelow }) => {
        await files.write(`${dir}/sub/f`, 'x')
        await sawBelow(Type.CREATE, 'sub/f')
        await files.makeDir(`${dir}/new`)
        await sawBelow(Type.CREATE, 'new')
        await files.write(`${dir}/new/g`, 'x')
        await sawBelow(Type.CREATE, 'new/g')
      })
      await saw(Type.CREATE, 'new')
      assert.deepEqual(events.filter((e) => e.name.includes('/')), [])
    })
  }),

  'watch: includeEntry brings the entry': inDirectory(({ files, dir }) =>
    watching(files, dir, { includeEntry: true }, async ({ saw }) => {
      await files.write(`${dir}/f`, '12345')
      const { entry } = await saw(Type.WRITE, 'f')
      assert.deepEqual([entry?.name, entry?.path, entry?.type], ['f', `${dir}/f`, 'file'])
      await files.remove(`${dir}/f`)
      assert.equal((await saw(Type.REMOVE, 'f')).entry, undefined)
    })),

  'watch: stop ends it, and another watch goes on': inDirectory(({ files, dir }) =>
    watching(files, dir, {}, async ({ saw }) =>
      watching(files, dir, {}, async (stopped) => {
        await stopped.handle.stop()
        await until('the end of the watch', () => stopped.exits.length === 1)
        await files.write(`${dir}/f`, 'x')
        await saw(Type.CREATE, 'f')
        assert.deepEqual(stopped.events, [])
      }))),

  'watch: timeoutMs ends it with a TimeoutError': inDirectory(async ({ files, dir }) => {
    // Where all of it passes before the watch has begun, it is watchDir that says so.
    const error = await new Promise((resolve) => { files.watchDir(dir, () => {}, { timeoutMs: 300, onExit: resolve }).catch(resolve) })
    assert.equal(error?.constructor?.name, 'TimeoutError')
  }),
}
