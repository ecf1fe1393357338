// Files: what is written is what is read, and what the SDK is told of it.
import assert from 'node:assert/strict'
import { FileNotFoundError, FileType, InvalidArgumentError } from 'e2b'
import { rejects, until } from './tools.mjs'

/** All byte values, so that nothing can take the content for text. */
export const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, i) => i)

let directories = 0

/** A call that is given a fresh directory as dir, which is removed at the end. */
export const inDirectory = (use) => async (world) => {
  const { files } = world.sandbox
  const name = `sdk-files-${process.pid}-${++directories}`
  assert.equal(await files.makeDir(name), true)
  const { path: dir } = await files.getInfo(name)
  assert.ok(dir.startsWith('/') && dir.endsWith(`/${name}`), dir)
  try {
    await use({ ...world, files, dir })
  } finally {
    await files.remove(dir)
  }
}

/** A stream that yields the pieces. */
const streamOf = (...pieces) => ReadableStream.from(pieces)

const names = (entries) => entries.map((e) => e.name)

export const calls = {
  'files: text comes back as it was written': inDirectory(async ({ files, dir }) => {
    const text = 'one\r\ntwo\n\u00e4 \u{1f600} \u2028 end'
    const info = await files.write(`${dir}/text.txt`, text)
    assert.deepEqual(info, { name: 'text.txt', type: FileType.FILE, path: `${dir}/text.txt`, metadata: undefined })
    assert.equal(await files.read(`${dir}/text.txt`), text)
  }),

  'files: every byte value comes back, as bytes, blob and stream': inDirectory(async ({ files, dir }) => {
    await files.write(`${dir}/all.bin`, EVERY_BYTE.buffer)
    const bytes = await files.read(`${dir}/all.bin`, { format: 'bytes' })
    assert.deepEqual(bytes, EVERY_BYTE)
    const blob = await files.read(`${dir}/all.bin`, { format: 'blob' })
    assert.deepEqual(new Uint8Array(await blob.arrayBuffer()), EVERY_BYTE)
    const stream = await files.read(`${dir}/all.bin`, { format: 'stream' })
    assert.deepEqual(new Uint8Array(await new Response(stream).arrayBuffer()), EVERY_BYTE)
  }),

  'files: an empty file is empty in every format': inDirectory(async ({ files, dir }) => {
    await files.write(`${dir}/empty`, '')
    assert.equal(await files.read(`${dir}/empty`), '')
    assert.equal((await files.read(`${dir}/empty`, { format: 'bytes' })).length, 0)
    assert.equal((await files.read(`${dir}/empty`, { format: 'blob' })).size, 0)
    assert.equal((await new Response(await files.read(`${dir}/empty`, { format: 'stream' })).arrayBuffer()).byteLength, 0)
    assert.equal((await files.getInfo(`${dir}/empty`)).size, 0)
  }),

  'files: blobs and streams are uploaded whole': inDirectory(async ({ files, dir }) => {
    await files.write(`${dir}/blob`, new Blob([EVERY_BYTE, 'tail']))
    assert.deepEqual(Buffer.from(await files.read(`${dir}/blob`, { format: 'bytes' })), Buffer.concat([EVERY_BYTE, Buffer.from('tail')]))
    await files.write(`${dir}/stream`, streamOf(EVERY_BYTE, EVERY_BYTE))
    assert.deepEqual(Buffer.from(await files.read(`${dir}/stream`, { format: 'bytes' })), Buffer.concat([EVERY_BYTE, EVERY_BYTE]))
    await files.write(`${dir}/octets`, 'octets', { useOctetStream: true })
    assert.equal(await files.read(`${dir}/octets`), 'octets')
  }),

  'files: a megabyte comes back whole': inDirectory(async ({ files, dir }) => {
    const large = Buffer.alloc(1 << 20, EVERY_BYTE)
    await files.write(`${dir}/large`, new Blob([large]))
    assert.ok(large.equals(await files.read(`${dir}/large`, { format: 'bytes' })))
    assert.equal((await files.getInfo(`${dir}/large`)).size, 1 << 20)
  }),

  'files: gzip in both directions changes nothing': inDirectory(async ({ files, dir }) => {
    const text = 'again and again\n'.repeat(5000)
    await files.write(`${dir}/packed`, text, { gzip: true })
    assert.equal((await files.getInfo(`${dir}/packed`)).size, text.length)
    assert.equal(await files.read(`${dir}/packed`, { gzip: true }), text)
    assert.equal(await files.read(`${dir}/packed`), text)
    const infos = await files.write([{ path: `${dir}/p1`, data: 'one' }, { path: `${dir}/p2`, data: 'two' }], { gzip: true })
    assert.deepEqual(names(infos), ['p1', 'p2'])
    assert.equal(await files.read(`${dir}/p2`), 'two')
  }),

  'files: several files in one call': inDirectory(async ({ files, dir }) => {
    const wanted = [1, 2, 3].map((i) => ({ path: `${dir}/a/b${i}/c.txt`, data: `content ${i}` }))
    const infos = await files.write(wanted)
    assert.deepEqual(infos.map((i) => i.path), wanted.map((w) => w.path))
    for (const { path, data } of wanted) assert.equal(await files.read(path), data)
    assert.equal((await files.writeFiles([{ path: `${dir}/x`, data: 'x' }])).length, 1)
    assert.deepEqual(await files.write([]), [])
  }),

  'files: a second write replaces, also with less': inDirectory(async ({ files, dir }) => {
    await files.write(`${dir}/f`, 'a longer text')
    await files.write(`${dir}/f`, 'short')
    assert.equal(await files.read(`${dir}/f`), 'short')
  }),

  'files: odd names are names': inDirectory(async ({ files, dir }) => {
    const odd = ['a b', 'a+b', 'a%20b', 'a&b=c', 'a#b?c', '\u00fc.txt', '.hidden', "it's"]
    for (const name of odd) await files.write(`${dir}/${name}`, name, { useOctetStream: true })
    for (const name of odd) assert.equal(await files.read(`${dir}/${name}`), name)
    assert.deepEqual(names(await files.list(dir)).sort(), odd.toSorted())
  }),

  'files: list is depth-first and by bytes': inDirectory(async ({ files, dir }) => {
    const paths = ['10', '9', 'B', 'a', 'b', 'sub/inner/deep', 'sub/z', '.h']
    await files.write(paths.map((p) => ({ path: `${dir}/${p}`, data: '' })))
    const listed = async (depth) => (await files.list(dir, { depth })).map((e) => e.path.slice(dir.length + 1))
    assert.deepEqual(await listed(), ['.h', '10', '9', 'B', 'a', 'b', 'sub'])
    assert.deepEqual(await listed(2), ['.h', '10', '9', 'B', 'a', 'b', 'sub', 'sub/inner', 'sub/z'])
    assert.deepEqual(await listed(3), ['.h', '10', '9', 'B', 'a', 'b', 'sub', 'sub/inner', 'sub/inner/deep', 'sub/z'])
    await rejects(files.list(dir, { depth: 0 }), InvalidArgumentError)
  }),

  'files: an empty directory lists nothing': inDirectory(async ({ files, dir }) => {
    assert.deepEqual(await files.list(dir), [])
  }),

  'files: getInfo of a file and of a directory': inDirectory(async ({ files, dir }) => {
    const before = Date.now()
    await files.write(`${dir}/f.txt`, '12345')
    const file = await files.getInfo(`${dir}/f.txt`)
    assert.deepEqual([file.name, file.type, file.path, file.size], ['f.txt', FileType.FILE, `${dir}/f.txt`, 5])
    assert.deepEqual([file.mode, file.permissions], [0o644, '-rw-r--r--'])
    assert.ok(file.owner && file.group, 'it has an owner and a group')
    assert.ok(file.modifiedTime instanceof Date && Math.abs(file.modifiedTime - before) < 60_000, `it was modified at ${file.modifiedTime}`)
    const directory = await files.getInfo(dir)
    assert.deepEqual([directory.type, directory.mode, directory.permissions], [FileType.DIR, 0o755, 'drwxr-xr-x'])
    const [listed] = await files.list(dir)
    assert.deepEqual(listed, file)
  }),

  'files: a link has the type of its target, and names it': inDirectory(async ({ files, dir, sandbox }) => {
    await files.write(`${dir}/target`, 'content')
    await sandbox.commands.run(`ln -s target link; ln -s nowhere broken`, { cwd: dir })
    const link = await files.getInfo(`${dir}/link`)
    assert.deepEqual([link.type, link.symlinkTarget], [FileType.FILE, `${dir}/target`])
    assert.equal(await files.read(`${dir}/link`), 'content')
    assert.deepEqual(names(await files.list(dir)), ['link', 'target'], 'list leaves out what has no type')
    await rejects(files.read(`${dir}/broken`), FileNotFoundError)
  }),

  'files: exists': inDirectory(async ({ files, dir }) => {
    await files.write(`${dir}/f`, '')
    assert.deepEqual(await Promise.all([dir, `${dir}/f`, `${dir}/g`, `${dir}/no/such`].map((p) => files.exists(p))), [true, true, false, false])
  }),

  'files: makeDir makes parents, and says false when there is one': inDirectory(async ({ files, dir }) => {
    assert.equal(await files.makeDir(`${dir}/a/b/c`), true)
    assert.equal(await files.makeDir(`${dir}/a/b/c`), false)
    assert.equal((await files.getInfo(`${dir}/a/b`)).type, FileType.DIR)
    await files.write(`${dir}/f`, '')
    await rejects(files.makeDir(`${dir}/f`), InvalidArgumentError)
  }),

  'files: rename moves, replaces and makes parents': inDirectory(async ({ files, dir }) => {
    await files.write(`${dir}/a`, 'A')
    await files.write(`${dir}/b`, 'B')
    const moved = await files.rename(`${dir}/a`, `${dir}/b`)
    assert.deepEqual([moved.name, moved.path, moved.size], ['b', `${dir}/b`, 1])
    assert.equal(await files.read(`${dir}/b`), 'A')
    assert.equal(await files.exists(`${dir}/a`), false)
    await files.rename(`${dir}/b`, `${dir}/new/parent/c`)
    await files.rename(`${dir}/new`, `${dir}/old`)
    assert.equal(await files.read(`${dir}/old/parent/c`), 'A')
  }),

  'files: remove is recursive, and nothing is nothing to remove': inDirectory(async ({ files, dir }) => {
    await files.write(`${dir}/a/b/c`, 'x')
    await files.remove(`${dir}/a`)
    assert.equal(await files.exists(`${dir}/a`), false)
    await files.remove(`${dir}/a`)
  }),

  'files: metadata stays with the file, and an upload replaces it': inDirectory(async ({ files, dir }) => {
    const info = await files.write(`${dir}/f`, 'x', { metadata: { Author: 'ada', purpose: 'a test' } })
    assert.deepEqual(info.metadata, { author: 'ada', purpose: 'a test' })
    assert.deepEqual((await files.getInfo(`${dir}/f`)).metadata, info.metadata)
    assert.deepEqual((await files.rename(`${dir}/f`, `${dir}/g`)).metadata, info.metadata)
    assert.deepEqual((await files.list(dir))[0].metadata, info.metadata)
    await files.write(`${dir}/g`, 'y', { metadata: { other: '1' }, gzip: true })
    assert.deepEqual((await files.getInfo(`${dir}/g`)).metadata, { other: '1' })
    await files.write(`${dir}/g`, 'z')
    assert.equal((await files.getInfo(`${dir}/g`)).metadata, undefined)
  }),

  'files: what is missing is a FileNotFoundError': inDirectory(async ({ files, dir }) => {
    const missing = `${dir}/missing`
    for (const format of ['text', 'bytes', 'blob', 'stream']) await rejects(files.read(missing, { format }), FileNotFoundError)
    await rejects(files.list(missing), FileNotFoundError)
    await rejects(files.getInfo(missing), FileNotFoundError)
    await rejects(files.rename(missing, `${dir}/x`), FileNotFoundError)
    await rejects(files.watchDir(missing, () => {}), FileNotFoundError)
  }),

  'files: what fits not is an InvalidArgumentError': inDirectory(async ({ files, dir }) => {
    await files.write(`${dir}/f`, 'x')
    await rejects(files.read(dir), InvalidArgumentError)
    await rejects(files.write(dir, 'x'), InvalidArgumentError)
    await rejects(files.list(`${dir}/f`), InvalidArgumentError)
    await rejects(files.watchDir(`${dir}/f`, () => {}), InvalidArgumentError)
    await rejects(files.write(`${dir}/f`, 'x', { metadata: { key: 'v'.repeat(5000) } }), InvalidArgumentError)
    assert.equal(await files.read(`${dir}/f`), 'x')
  }),

  'files: commands and files see the same disk': inDirectory(async ({ files, dir, sandbox }) => {
    await files.write(`${dir}/in`, 'from the client\n')
    const { stdout } = await sandbox.commands.run('cat in; echo from the command > out', { cwd: dir })
    assert.equal(stdout, 'from the client\n')
    assert.equal(await files.read(`${dir}/out`), 'from the command\n')
  }),

  'files: twenty uploads and downloads at a time do not mix': inDirectory(async ({ files, dir }) => {
    const all = Array.from({ length: 20 }, (_, i) => ({ path: `${dir}/${i}`, data: `${i} `.repeat(2000 + i) }))
    await Promise.all(all.map(({ path, data }) => files.write(path, data)))
    const read = await Promise.all(all.map(({ path }) => files.read(path)))
    assert.deepEqual(read, all.map(({ data }) => data))
  }),
}

/** Calls that need HTTP/1.1: over HTTP/2, undici ends the body of an upload that is given up as if it were whole. */
export const overHTTP1 = {
  'files: an upload that is given up leaves the file as it was': inDirectory(async ({ files, dir }) => {
    await files.write(`${dir}/f`, 'old')
    const abort = new AbortController()
    let sent
    const taken = new Promise((resolve) => { sent = resolve })
    const endless = new ReadableStream({
      start: (c) => c.enqueue(Buffer.alloc(100_000, 'new')),
      pull: () => { sent(); return new Promise(() => {}) },
    }, { highWaterMark: 0 })
    const upload = files.write(`${dir}/f`, endless, { signal: abort.signal })
    await taken
    abort.abort()
    await assert.rejects(upload)
    assert.equal(await files.read(`${dir}/f`), 'old')
    await until('nothing but the file to be there', async () => (await files.list(dir)).length === 1)
  }),
}
