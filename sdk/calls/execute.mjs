// Code execution: results, output, errors and contexts, as the client of the code interpreter sees them.
// The code runs in Python and in the language of the gateway alike, unless a call says otherwise.
import assert from 'node:assert/strict'
import { NotFoundError, TimeoutError } from 'e2b'
import { failure, rejects } from './tools.mjs'

const sleep = (seconds) => `__import__("time").sleep(${seconds})`

/** Calls use with a context of its own, and removes the context. */
async function inContext(sandbox, use) {
  const context = await sandbox.createCodeContext()
  try {
    return await use(context, (code, options) => sandbox.runCode(code, { context, ...options }))
  } finally {
    await sandbox.removeCodeContext(context)
  }
}

/** A promise with what resolves it. */
function promised() {
  let resolve
  const promise = new Promise((r) => (resolve = r))
  return { promise, resolve }
}

export const calls = {
  'the value of the last expression is the text': async ({ sandbox }) => {
    const execution = await sandbox.runCode('x = 20\nx * 2 + 2')
    assert.equal(execution.text, '42')
    assert.equal(execution.results.length, 1)
    assert.equal(execution.error, undefined)
  },

  'code without a value has no result': async ({ sandbox }) => {
    const execution = await sandbox.runCode('x = 1')
    assert.equal(execution.text, undefined)
    assert.deepEqual(execution.results, [])
  },

  'stdout and stderr are kept apart': async ({ sandbox }) => {
    const { logs } = await sandbox.runCode('print("out")\nprint("err", file=__import__("sys").stderr)')
    assert.equal(logs.stdout.join(''), 'out\n')
    assert.equal(logs.stderr.join(''), 'err\n')
  },

  'text beyond ASCII arrives as it is': async ({ sandbox }) => {
    const text = 'é€𝄞\u0085\u2028\u2029 "quoted" \\ '
    const { logs } = await sandbox.runCode(`print(${JSON.stringify(text.repeat(20000))}, end="")`)
    assert.equal(logs.stdout.join(''), text.repeat(20000))
  },

  'a megabyte arrives whole': async ({ sandbox }) => {
    const { logs } = await sandbox.runCode('for i in range(20):\n  print("0123456789abcdef" * 4096)')
    assert.equal(logs.stdout.join(''), `${'0123456789abcdef'.repeat(4096)}\n`.repeat(20))
  },

  'callbacks get output, results and errors in their order': async ({ sandbox }) => {
    const seen = []
    await sandbox.runCode('print("a")\n1//0', {
      onStdout: (m) => seen.push(`stdout ${m.line}`),
      onError: (e) => seen.push(`error ${e.name}`),
    })
    await sandbox.runCode('print("b")\n7', { onStdout: (m) => seen.push(`stdout ${m.line}`), onResult: (r) => seen.push(`result ${r.text}`) })
    assert.deepEqual(seen, ['stdout a\n', 'error ZeroDivisionError', 'stdout b\n', 'result 7'])
  },

  'output comes while the code runs': ({ sandbox }) =>
    inContext(sandbox, async (context, run) => {
      const first = promised()
      const execution = run(`print("on")\n${sleep(3600)}`, { onStdout: first.resolve, timeoutMs: 0 })
      assert.equal((await first.promise).line, 'on\n')
      await sandbox.restartCodeContext(context)
      assert.ok((await execution).error, 'a restart ends the code with an error')
    }),

  'an error has a name, a value and a traceback': async ({ sandbox }) => {
    const { error, logs } = await sandbox.runCode('print("before")\n1//0')
    assert.equal(error.name, 'ZeroDivisionError')
    assert.match(error.value, /by zero/)
    assert.match(error.traceback, /ZeroDivisionError/)
    assert.equal(logs.stdout.join(''), 'before\n')
  },

  'code that does not parse is an error of the code': async ({ sandbox }) => {
    const { error } = await sandbox.runCode('x = = 1')
    assert.equal(error.name, 'SyntaxError')
    assert.equal(typeof error.traceback, 'string')
  },

  'variables stay, and the count goes up': ({ sandbox }) =>
    inContext(sandbox, async (_, run) => {
      assert.equal((await run('x = 1')).executionCount, 1)
      const second = await run('x + 1')
      assert.equal(second.executionCount, 2)
      assert.equal(second.text, '2')
    }),

  'contexts are apart': ({ sandbox }) =>
    inContext(sandbox, (_, one) =>
      inContext(sandbox, async (_, two) => {
        await one('x = 1')
        await two('x = 2')
        assert.equal((await one('x')).text, '1')
        assert.equal((await two('x')).text, '2')
      }),
    ),

  'a context has an id, a language and a cwd, and is listed': ({ sandbox }) =>
    inContext(sandbox, async (context) => {
      assert.ok(context.id && context.language && context.cwd, JSON.stringify(context))
      assert.deepEqual((await sandbox.listCodeContexts()).find((c) => c.id === context.id), context)
    }),

  'a restart forgets the variables': ({ sandbox }) =>
    inContext(sandbox, async (context, run) => {
      await run('x = 1')
      await sandbox.restartCodeContext(context)
      assert.equal((await run('x')).error.name, 'NameError')
    }),

  'an unknown context is a NotFoundError for every call': async ({ sandbox }) => {
    const context = await inContext(sandbox, async (made) => made)
    await rejects(sandbox.runCode('1', { context }), NotFoundError)
    await rejects(sandbox.restartCodeContext(context), NotFoundError)
    await rejects(sandbox.removeCodeContext(context), NotFoundError)
  },

  'a language without a kernel is an error': async ({ sandbox }) => {
    await failure(sandbox.runCode('1', { language: 'assay-unknown' }))
    await failure(sandbox.createCodeContext({ language: 'assay-unknown' }))
  },

  'a language can be named': async ({ sandbox }) => {
    assert.equal((await sandbox.runCode('6 * 7', { language: 'python' })).text, '42')
  },

  'envs are there for one run': ({ sandbox }) =>
    inContext(sandbox, async (_, run) => {
      const code = '__import__("os").environ.get("ASSAY_ENV", "none")'
      assert.equal((await run(code, { envs: { ASSAY_ENV: 'here' } })).text, 'here')
      assert.equal((await run(code)).text, 'none')
    }),

  'runs of one context come one after another': ({ sandbox }) =>
    inContext(sandbox, async (_, run) => {
      await run('x = []')
      await Promise.all([1, 2, 3, 4, 5].map((n) => run(`x.append(${n})\n${sleep(0.05)}\nx.append(${n})`)))
      const seen = JSON.parse((await run('x')).text)
      assert.equal(seen.length, 10)
      for (let i = 0; i < seen.length; i += 2) assert.equal(seen[i], seen[i + 1], `mixed: ${seen}`)
    }),

  'after a timeout of the client the context takes the next run': ({ sandbox }) =>
    inContext(sandbox, async (_, run) => {
      await run('x = 5')
      await rejects(run(sleep(3600), { timeoutMs: 300 }), TimeoutError)
      assert.equal((await run('x')).text, '5')
    }),
}

/** Calls that only the language of the gateway of Assay can answer. */
export const own = {
  'a display has the formats that it is given': async ({ sandbox }) => {
    const { results } = await sandbox.runCode('display("t", html="<b>t</b>", json={"a": [1]}, chart={"type": "line"})\n1')
    assert.equal(results.length, 2)
    assert.deepEqual(results[0].formats().filter((f) => f !== 'extra'), ['html', 'json'])
    assert.equal(results[0].html, '<b>t</b>')
    assert.deepEqual(results[0].json, { a: [1] })
    assert.deepEqual(results[0].chart, { type: 'line' })
    assert.ok(!results[0].isMainResult && results[1].isMainResult)
  },
}
