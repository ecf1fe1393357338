// A command in the foreground: its output, its exit code, what it is started with.
import assert from 'node:assert/strict'
import { CommandExitError } from 'e2b'
import { rejects } from './tools.mjs'

/** Wants the command to succeed with exactly this output. */
async function prints(sandbox, command, stdout, options) {
  const result = await sandbox.commands.run(command, options)
  assert.equal(result.stdout, stdout)
  assert.equal(result.exitCode, 0)
  return result
}

const lines = (n) => Array.from({ length: n }, (_, i) => `${i + 1}\n`).join('')

export const calls = {
  'run returns output, exit code 0 and no error': async ({ sandbox }) => {
    const result = await sandbox.commands.run('echo hello')
    assert.equal(result.stdout, 'hello\n')
    assert.equal(result.stderr, '')
    assert.equal(result.exitCode, 0)
    assert.ok(!result.error, `error is ${result.error}`)
  },

  'run of a command that prints nothing': async ({ sandbox }) => {
    const result = await prints(sandbox, 'true', '')
    assert.equal(result.stderr, '')
  },

  'output keeps its missing last newline': ({ sandbox }) => prints(sandbox, "printf 'a\\nb'", 'a\nb'),

  'stderr is kept apart from stdout': async ({ sandbox }) => {
    const result = await prints(sandbox, 'echo out; echo err >&2; echo out2', 'out\nout2\n')
    assert.equal(result.stderr, 'err\n')
  },

  'a failing command is a CommandExitError with everything in it': async ({ sandbox }) => {
    const error = await rejects(sandbox.commands.run('echo out; echo err >&2; exit 42'), CommandExitError)
    assert.equal(error.exitCode, 42)
    assert.equal(error.stdout, 'out\n')
    assert.equal(error.stderr, 'err\n')
    assert.equal(error.error, 'exit status 42')
  },

  'exit codes 1, 2, 127 and 255 arrive as they are': async ({ sandbox }) => {
    for (const code of [1, 2, 127, 255]) {
      const error = await rejects(sandbox.commands.run(`exit ${code}`), CommandExitError)
      assert.equal(error.exitCode, code)
    }
  },

  'an unknown command ends with 127 and a word on stderr': async ({ sandbox }) => {
    const error = await rejects(sandbox.commands.run('no-such-command-here'), CommandExitError)
    assert.equal(error.exitCode, 127)
    assert.match(error.stderr, /no-such-command-here.*not found/)
  },

  'a command that a signal ends has exit code -1 and the name of the signal': async ({ sandbox }) => {
    const error = await rejects(sandbox.commands.run('echo before; kill -TERM $$'), CommandExitError)
    assert.equal(error.exitCode, -1)
    assert.equal(error.error, 'signal: terminated')
    assert.equal(error.stdout, 'before\n')
  },

  'onStdout and onStderr get every piece in order': async ({ sandbox }) => {
    const out = []
    const err = []
    const result = await sandbox.commands.run('for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done', {
      onStdout: (piece) => out.push(piece),
      onStderr: (piece) => err.push(piece),
    })
    assert.equal(out.join(''), 'o1\no2\no3\no4\no5\n')
    assert.equal(err.join(''), 'e1\ne2\ne3\ne4\ne5\n')
    assert.equal(result.stdout, out.join(''))
    assert.equal(result.stderr, err.join(''))
  },

  'a slow onStdout slows the stream and loses nothing': async ({ sandbox }) => {
    let pieces = 0
    let seen = ''
    await sandbox.commands.run('seq 1 3000', {
      onStdout: async (piece) => {
        seen += piece
        if (pieces++ < 50) await new Promise((resolve) => setTimeout(resolve, 2))
      },
    })
    assert.equal(seen, lines(3000))
  },

  'output arrives while the command still runs': async ({ sandbox }) => {
    let first
    const began = new Promise((resolve) => { first = resolve })
    const handle = await sandbox.commands.run('echo first; read line; echo "got $line"', {
      background: true, stdin: true, onStdout: (piece) => first(piece),
    })
    assert.equal(await began, 'first\n')
    assert.equal(handle.exitCode, undefined)
    await handle.sendStdin('go\n')
    assert.equal((await handle.wait()).stdout, 'first\ngot go\n')
  },

  'fifty thousand lines arrive whole': ({ sandbox }) => prints(sandbox, 'seq 1 50000', lines(50000)),

  'one line of 300,000 characters arrives whole': ({ sandbox }) =>
    prints(sandbox, "yes x | head -n 300000 | tr -d '\\n'", 'x'.repeat(300000)),

  'many characters of more than one byte are never damaged': async ({ sandbox }) => {
    const line = 'aé€😀ß漢\n'
    await prints(sandbox, `yes '${line.trim()}' | head -n 20000`, line.repeat(20000))
  },

  'a command and its arguments in Unicode': ({ sandbox }) =>
    prints(sandbox, 'x="žluťoučký 🐎"; echo "$x" 日本語', 'žluťoučký 🐎 日本語\n'),

  'bytes that are no text become replacement characters': ({ sandbox }) =>
    prints(sandbox, "printf 'a\\377b'", 'a\uFFFDb'),

  'a script of several lines with quotes, a pipe and a here-document': ({ sandbox }) =>
    prints(sandbox, `
      f() { echo "f: $1"; }
      f 'single "double" inside' | tr a-z A-Z
      cat <<'END'
$HOME is "not" expanded
END
    `, 'F: SINGLE "DOUBLE" INSIDE\n$HOME is "not" expanded\n'),

  'a command of 100,000 characters': async ({ sandbox }) => {
    const text = 'y'.repeat(100_000)
    await prints(sandbox, `x=${text}; echo \${#x}`, '100000\n')
  },

  'envs are set and survive every character': async ({ sandbox }) => {
    const hard = `a=b "c" 'd' $e \\ \`f\` é😀\nsecond line`
    await prints(sandbox, 'printf %s "$HARD|$EMPTY|${UNSET-unset}"', `${hard}||unset`, { envs: { HARD: hard, EMPTY: '' } })
  },

  'cwd is where the command runs': ({ sandbox }) => prints(sandbox, 'pwd', '/tmp\n', { cwd: '/tmp' }),

  'without cwd a command runs in the home directory': ({ sandbox }) =>
    prints(sandbox, '[ "$(pwd -P)" = "$(cd && pwd -P)" ] && echo home', 'home\n'),

  'user picks whose environment it is': ({ sandbox }) =>
    prints(sandbox, 'echo "$USER"', 'root\n', { user: 'root' }),

  'without stdin a command that reads sees the end at once': ({ sandbox }) =>
    prints(sandbox, 'cat; echo done', 'done\n'),

  'output of a background child belongs to the stream': ({ sandbox }) =>
    prints(sandbox, '(sleep 0.2; echo late) & echo now', 'now\nlate\n'),
}
