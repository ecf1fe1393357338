// Users, and URLs that carry their own permission.
import assert from 'node:assert/strict'
import { AuthenticationError } from 'e2b'
import { EVERY_BYTE, inDirectory } from './files.mjs'
import { rejects } from './tools.mjs'

/** The status and the body of a response as JSON. */
const refusal = async (response) => [response.status, await response.json()]

/** The form with one file that a web page would send. */
function form(content, name) {
  const data = new FormData()
  data.append('file', new Blob([content]), name)
  return data
}

export const calls = {
  'users: a relative path begins at the home of the user': async ({ sandbox: { files } }) => {
    const name = `sdk-user-${process.pid}`
    for (const user of ['root', 'user']) {
      const { path } = await files.write(name, user, { user })
      try {
        assert.equal(path, `${(await files.getInfo('.', { user })).path}/${name}`)
        assert.equal(await files.read(name, { user }), user)
        assert.equal(await files.read(path), user)
        assert.equal(await files.exists(name, { user }), true)
        assert.ok((await files.list('.', { user })).some((e) => e.path === path))
      } finally {
        await files.remove(name, { user })
      }
      assert.equal(await files.exists(path), false)
    }
  },

  'users: an unknown user is an AuthenticationError': inDirectory(async ({ files, dir }) => {
    const user = 'nobody-of-that-name'
    await rejects(files.write(`${dir}/f`, 'x', { user }), AuthenticationError)
    await rejects(files.read(`${dir}/f`, { user }), AuthenticationError)
    await rejects(files.list(dir, { user }), AuthenticationError)
    await rejects(files.makeDir(`${dir}/d`, { user }), AuthenticationError)
    assert.deepEqual(await files.list(dir), [])
  }),
}

/** Calls that need a gateway whose users are accounts of their own. */
export const owners = {
  'users: what a user makes belongs to the user': inDirectory(async ({ files, dir }) => {
    for (const user of ['root', 'user']) {
      await files.write(`${dir}/${user}/f`, 'x', { user })
      await files.makeDir(`${dir}/${user}/d`, { user })
      for (const path of ['', '/f', '/d']) assert.equal((await files.getInfo(`${dir}/${user}${path}`)).owner, user)
    }
  }),
}

/** Calls that only a gateway with a token can answer. */
export const signed = {
  'signed: a URL downloads without the token': inDirectory(async ({ files, dir, sandbox }) => {
    await files.write(`${dir}/a b+c.bin`, EVERY_BYTE.buffer)
    for (const options of [{}, { user: 'user' }, { useSignatureExpiration: 600 }, { user: 'root', useSignatureExpiration: 600 }]) {
      const response = await fetch(await sandbox.downloadUrl(`${dir}/a b+c.bin`, options))
      assert.equal(response.status, 200)
      assert.deepEqual(new Uint8Array(await response.arrayBuffer()), EVERY_BYTE)
    }
  }),

  'signed: a URL uploads without the token': inDirectory(async ({ files, dir, sandbox }) => {
    const response = await fetch(await sandbox.uploadUrl(`${dir}/up`, { useSignatureExpiration: 600 }), { method: 'POST', body: form('signed', 'ignored') })
    assert.equal(response.status, 200)
    assert.deepEqual((await response.json()).map((f) => f.path), [`${dir}/up`])
    assert.equal(await files.read(`${dir}/up`), 'signed')
    const open = await fetch(await sandbox.uploadUrl(), { method: 'POST', body: form('named by the form', `${dir}/named`) })
    assert.equal(open.status, 200)
    assert.equal(await files.read(`${dir}/named`), 'named by the form')
  }),

  'signed: a URL is for one path, one way and its time': inDirectory(async ({ files, dir, sandbox }) => {
    await files.write(`${dir}/f`, 'x')
    await files.write(`${dir}/g`, 'y')
    const url = new URL(await sandbox.downloadUrl(`${dir}/f`, { useSignatureExpiration: 600 }))
    const changed = (name, value) => {
      const other = new URL(url)
      value === undefined ? other.searchParams.delete(name) : other.searchParams.set(name, value)
      return other
    }
    // What no token has signed is for no sandbox, unless the headers name it.
    const headers = { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '49983' }
    const wrong = [401, { code: 401, message: 'invalid signature' }]
    assert.deepEqual(await refusal(await fetch(changed('path', `${dir}/g`), { headers })), wrong)
    assert.deepEqual(await refusal(await fetch(changed('username', 'user'), { headers })), wrong)
    assert.deepEqual(await refusal(await fetch(changed('signature_expiration', '99999999999'), { headers })), wrong)
    assert.deepEqual(await refusal(await fetch(changed('signature_expiration'), { headers })), wrong)
    assert.deepEqual(await refusal(await fetch(url, { headers, method: 'POST', body: form('z', 'f') })), wrong)
    assert.equal(await files.read(`${dir}/f`), 'x')
    const late = await sandbox.downloadUrl(`${dir}/f`, { useSignatureExpiration: -120 })
    assert.deepEqual(await refusal(await fetch(late, { headers })), [401, { code: 401, message: 'signature is already expired' }])
  }),

  'files: a wrong token is an AuthenticationError for every call': inDirectory(async ({ dir, withToken }) => {
    for (const { files } of [withToken('wrong'), withToken(undefined)]) {
      await rejects(files.read(`${dir}/f`), AuthenticationError)
      await rejects(files.write(`${dir}/f`, 'x'), AuthenticationError)
      await rejects(files.list(dir), AuthenticationError)
      await rejects(files.makeDir(`${dir}/d`), AuthenticationError)
      await rejects(files.remove(dir), AuthenticationError)
      await rejects(files.watchDir(dir, () => {}), AuthenticationError)
    }
  }),
}
