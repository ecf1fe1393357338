// Sandboxes: their life as the control plane tells it, and as what runs in them sees it.
import assert from 'node:assert/strict'
import { AuthenticationError, RateLimitError, Sandbox, SandboxError, SandboxNotFoundError, TimeoutError } from 'e2b'
import { rejects, until } from './tools.mjs'

/** How far two clocks of one machine, or a start and its answer, may be apart, in milliseconds. */
const SLACK_MS = 30_000

/** An id that no sandbox has. */
const NOBODY = 'inobodyhasthisid0000'

/** Runs use with a new sandbox, and kills it. */
async function withSandbox(options, use) {
  const sandbox = await Sandbox.create(options)
  try {
    await use(sandbox)
  } finally {
    await sandbox.kill()
  }
}

/** All sandboxes of a list, page by page, and how many pages there were. */
async function pages(options) {
  const list = Sandbox.list(options)
  const ids = []
  let count = 0
  while (list.hasNext) {
    assert.ok(count++ < 50, 'the pages do not end')
    ids.push(...(await list.nextItems()).map((s) => s.sandboxId))
  }
  return { ids, count }
}

/** A value that only this call has. */
let runs = 0
const unique = () => `run ${process.pid}&${++runs}=\u00e4+%`

const near = (date, ms) => assert.ok(Math.abs(date - ms) < SLACK_MS, `${date} is not near ${new Date(ms)}`)

export const calls = {
  'sandbox: create, getInfo and kill': () =>
    withSandbox({ timeoutMs: 120_000, metadata: { purpose: 'a test' } }, async (sandbox) => {
      assert.match(sandbox.sandboxId, /^[a-z0-9]+$/)
      assert.equal(await sandbox.isRunning(), true)
      const info = await sandbox.getInfo()
      assert.equal(info.sandboxId, sandbox.sandboxId)
      assert.equal(info.state, 'running')
      assert.deepEqual(info.metadata, { purpose: 'a test' })
      assert.ok(info.cpuCount > 0 && info.memoryMB > 0 && info.envdVersion && info.templateId)
      near(info.startedAt, Date.now())
      near(info.endAt, info.startedAt.getTime() + 120_000)
      assert.equal(await sandbox.kill(), true)
      assert.equal(await sandbox.isRunning(), false)
      assert.equal(await sandbox.kill(), false)
      assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
      await rejects(sandbox.getInfo(), SandboxNotFoundError)
    }),

  'sandbox: envs of create reach commands, and those of a command come first': () =>
    withSandbox({ envs: { ONE: '1', TWO: '2' } }, async ({ commands }) => {
      const { stdout } = await commands.run('echo $ONE $TWO', { envs: { TWO: 'own' } })
      assert.equal(stdout, '1 own\n')
    }),

  'sandbox: commands and files of one are not those of another': () =>
    withSandbox({}, (one) => withSandbox({}, async (other) => {
      assert.notEqual(one.sandboxId, other.sandboxId)
      await one.files.write('only-here', 'x')
      assert.equal((await one.commands.run('cat ~/only-here')).stdout, 'x')
      assert.equal(await other.files.exists('only-here'), false)
      const handle = await one.commands.run('exec sleep 60', { background: true })
      assert.deepEqual(await other.commands.list(), [])
      assert.equal(await handle.kill(), true)
    })),

  'sandbox: connect is the same sandbox, and does not shorten its life': () =>
    withSandbox({ timeoutMs: 600_000 }, async (sandbox) => {
      await sandbox.files.write('f', 'before')
      const before = await sandbox.getInfo()
      const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 5_000 })
      assert.equal(await again.files.read('f'), 'before')
      assert.ok((await again.getInfo()).endAt >= before.endAt, 'connect has shortened the life')
      await again.connect({ timeoutMs: 1_200_000 })
      near((await sandbox.getInfo()).endAt, Date.now() + 1_200_000)
    }),

  'sandbox: setTimeout extends, and shortens until the end': () =>
    withSandbox({}, async (sandbox) => {
      await sandbox.setTimeout(1_200_000)
      near((await sandbox.getInfo()).endAt, Date.now() + 1_200_000)
      await sandbox.setTimeout(1_000)
      await until('the end of the sandbox', async () => !(await sandbox.isRunning()))
      await rejects(sandbox.getInfo(), SandboxNotFoundError)
      await rejects(sandbox.setTimeout(5_000), SandboxNotFoundError)
      await rejects(Sandbox.connect(sandbox.sandboxId), SandboxNotFoundError)
      assert.equal(await sandbox.kill(), false)
    }),

  'sandbox: a timeout that is none is a SandboxError': () =>
    withSandbox({}, async (sandbox) => {
      await rejects(sandbox.setTimeout(-5_000), SandboxError, /400/)
      await rejects(Sandbox.create({ timeoutMs: 0 }), SandboxError, /400/)
      assert.equal(await sandbox.isRunning(), true)
    }),

  'sandbox: pause keeps files, processes and the token': () =>
    withSandbox({}, async (sandbox) => {
      await sandbox.files.write('f', 'kept')
      const { pid } = await sandbox.commands.run('exec sleep 60', { background: true })
      assert.equal(await sandbox.pause(), true)
      assert.equal(await sandbox.pause(), false)
      assert.equal((await sandbox.getInfo()).state, 'paused')
      assert.equal(await sandbox.isRunning(), false)
      await rejects(sandbox.files.read('f'), TimeoutError)
      const again = await Sandbox.connect(sandbox.sandboxId)
      assert.equal((await again.getInfo()).state, 'running')
      assert.equal(await again.files.read('f'), 'kept')
      assert.equal(await sandbox.files.read('f'), 'kept', 'a client of before goes on')
      assert.deepEqual((await again.commands.list()).map((p) => p.pid), [pid])
      assert.equal(await again.commands.kill(pid), true)
      assert.equal(await again.betaPause(), true)
      assert.equal(await again.kill(), true)
    }),

  'sandbox: onTimeout pause pauses at the end': () =>
    withSandbox({ timeoutMs: 1_000, lifecycle: { onTimeout: 'pause' } }, async (sandbox) => {
      await until('the pause', async () => (await sandbox.getInfo()).state === 'paused')
      await sandbox.connect({ timeoutMs: 60_000 })
      assert.equal(await sandbox.isRunning(), true)
    }),

  'sandbox: list has pages, and the newest first': async () => {
    const metadata = { run: unique() }
    const made = []
    try {
      for (let i = 0; i < 5; i++) made.push(await Sandbox.create({ metadata }))
      const ids = made.map((s) => s.sandboxId)
      assert.deepEqual(await pages({ query: { metadata } }), { ids: ids.toReversed(), count: 1 })
      assert.deepEqual(await pages({ query: { metadata }, limit: 2 }), { ids: ids.toReversed(), count: 3 })
      assert.deepEqual(await pages({ query: { metadata }, limit: 2, order: 'asc' }), { ids, count: 3 })
    } finally {
      await Promise.all(made.map((s) => s.kill()))
    }
  },

  'sandbox: list filters by metadata and state': async () => {
    const metadata = { 'a key': unique() }
    const matching = async (query) => (await pages({ query })).ids
    await withSandbox({ metadata: { ...metadata, color: 'red' } }, (red) =>
      withSandbox({ metadata: { ...metadata, color: 'blue' } }, async (blue) => {
        assert.deepEqual(await matching({ metadata: { ...metadata, color: 'red' } }), [red.sandboxId])
        assert.deepEqual(await matching({ metadata: { ...metadata, color: 'green' } }), [])
        await blue.pause()
        assert.deepEqual(await matching({ metadata, state: ['paused'] }), [blue.sandboxId])
        assert.deepEqual(await matching({ metadata, state: ['running'] }), [red.sandboxId])
        assert.deepEqual((await matching({ metadata, state: ['running', 'paused'] })).sort(), [red.sandboxId, blue.sandboxId].sort())
        const { startedAt } = await red.getInfo()
        assert.ok((await matching({ metadata, startedAfter: startedAt })).includes(red.sandboxId), 'startedAfter is inclusive')
        assert.deepEqual(await matching({ metadata, startedAfter: new Date(Date.now() + SLACK_MS) }), [])
        assert.deepEqual(await matching({ metadata, template: 'no-such-template' }), [])
      }))
  },

  'sandbox: metrics': () =>
    withSandbox({}, async (sandbox) => {
      const metrics = await until('a sample', async () => {
        const samples = await sandbox.getMetrics()
        return samples.length > 0 && samples
      })
      for (const m of metrics) {
        near(m.timestamp, Date.now())
        for (const name of ['cpuUsedPct', 'cpuCount', 'memUsed', 'memTotal', 'diskUsed', 'diskTotal']) assert.equal(typeof m[name], 'number', name)
      }
    }),

  'sandbox: getHost names the port and the sandbox': async ({ sandbox }) => {
    assert.ok(sandbox.getHost(3000).startsWith(`3000-${sandbox.sandboxId}.`), sandbox.getHost(3000))
  },

  'sandbox: kill cuts what runs': () =>
    withSandbox({}, async (sandbox) => {
      const handle = await sandbox.commands.run('echo up; exec sleep 60', { background: true })
      await until('the first line', () => handle.stdout === 'up\n')
      const ended = rejects(handle.wait(), TimeoutError)
      assert.equal(await sandbox.kill(), true)
      await ended
      await rejects(sandbox.commands.run('true'), SandboxNotFoundError)
      await rejects(sandbox.commands.list(), TimeoutError)
      await rejects(sandbox.files.read('/etc/passwd'), TimeoutError)
      await rejects(sandbox.files.list('/'), TimeoutError)
    }),

  'sandbox: what nobody has is not found': async () => {
    await rejects(Sandbox.connect(NOBODY), SandboxNotFoundError)
    await rejects(Sandbox.getInfo(NOBODY), SandboxNotFoundError)
    await rejects(Sandbox.setTimeout(NOBODY, 1_000), SandboxNotFoundError)
    await rejects(Sandbox.pause(NOBODY), SandboxNotFoundError)
    assert.equal(await Sandbox.kill(NOBODY), false)
    await rejects(Sandbox.create('no-such-template'), SandboxError, /404/)
  },

  'sandbox: the token of another is an AuthenticationError': ({ clientOf }) =>
    withSandbox({}, (one) => withSandbox({}, async (other) => {
      const stranger = clientOf(one.sandboxId, other.envdAccessToken)
      await rejects(stranger.commands.run('true'), AuthenticationError)
      await rejects(stranger.files.list('/'), AuthenticationError)
    })),

  'sandbox: a signed URL is for its sandbox': () =>
    withSandbox({}, (one) => withSandbox({}, async (other) => {
      await one.files.write('signed', 'of the one')
      await other.files.write('signed', 'of the other')
      const texts = await Promise.all([one, other].map(async (s) => (await fetch(await s.downloadUrl('signed'))).text()))
      assert.deepEqual(texts, ['of the one', 'of the other'])
      await one.kill()
      assert.notEqual((await fetch(await one.downloadUrl('signed'))).status, 200)
    })),

  'sandbox: ten at a time': async () => {
    const made = await Promise.all(Array.from({ length: 10 }, () => Sandbox.create()))
    try {
      const texts = await Promise.all(made.map(async (s) => (await s.commands.run(`echo ${s.sandboxId}`)).stdout))
      assert.deepEqual(texts, made.map((s) => `${s.sandboxId}\n`))
    } finally {
      assert.deepEqual(await Promise.all(made.map((s) => s.kill())), made.map(() => true))
    }
  },
}

/** Calls that only a control plane with a key can answer. */
export const keyed = {
  'sandbox: a wrong key is an AuthenticationError for every call': async ({ sandbox: { sandboxId } }) => {
    const apiKey = `e2b_${'f'.repeat(40)}`
    await rejects(Sandbox.create({ apiKey }), AuthenticationError)
    await rejects(Sandbox.connect(sandboxId, { apiKey }), AuthenticationError)
    await rejects(Sandbox.list({ apiKey }).nextItems(), AuthenticationError)
    await rejects(Sandbox.getInfo(sandboxId, { apiKey }), AuthenticationError)
    await rejects(Sandbox.kill(sandboxId, { apiKey }), AuthenticationError)
    await rejects(Sandbox.setTimeout(sandboxId, 1_000, { apiKey }), AuthenticationError)
  },
}

/** Calls that need a control plane that allows a hundred sandboxes. */
export const limited = {
  'sandbox: too many are a RateLimitError': async () => {
    const made = []
    const error = await (async () => {
      for (let i = 0; i <= 100; i++) made.push(await Sandbox.create({ retries: 0 }))
    })().catch((e) => e)
    try {
      assert.equal(error?.constructor, RateLimitError, `after ${made.length} sandboxes: ${error}`)
    } finally {
      await Promise.all(made.map((s) => s.kill()))
    }
    await withSandbox({}, async (s) => assert.equal(await s.isRunning(), true))
  },
}
