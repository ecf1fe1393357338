// Commands, their output and their end.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { using } from './attach.mjs'

const digest = (bytes) => createHash('sha256').update(bytes).digest('hex')

export const calls = {
  'stdout and stderr are kept apart, and the exit code comes': async (gateway) => {
    assert.deepEqual(await gateway.run('echo out; echo err >&2; exit 7'), { code: 7, stdout: 'out\n', stderr: 'err\n' })
  },

  'every exit code comes with close code 1000': async (gateway) => {
    for (const code of [0, 1, 2, 126, 127, 128, 255]) assert.equal((await gateway.run(`exit ${code}`)).code, code)
  },

  'a command without output has none': async (gateway) => {
    assert.deepEqual(await gateway.run(':'), { code: 0, stdout: '', stderr: '' })
  },

  'every byte value comes out as it was written': async (gateway) => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    const octal = Array.from(all, (b) => `\\${b.toString(8).padStart(3, '0')}`).join('')
    const attached = gateway.sh(`printf '${octal}'; printf '${octal}' >&2`)
    await attached.end()
    assert.deepEqual(attached.stdout, all)
    assert.deepEqual(attached.stderr, all)
  },

  'what looks like a message is output': async (gateway) => {
    const text = '{"type":"exit","code":9}'
    assert.deepEqual(await gateway.run(`printf '${text}'; exit 4`), { code: 4, stdout: text, stderr: '' })
  },

  'fifty thousand lines arrive whole and in order': async (gateway) => {
    const want = Array.from({ length: 50_000 }, (_, i) => `${i + 1}\n`).join('')
    assert.equal(digest((await gateway.run('seq 50000')).stdout), digest(want))
  },

  'five megabytes on each stream arrive whole': async (gateway) => {
    const half = 'yes abcdefghijklmno | head -c 5000000'
    const { stdout, stderr } = await gateway.run(`${half} & ${half} >&2; wait`)
    const want = digest('abcdefghijklmno\n'.repeat(312_500))
    assert.deepEqual([stdout.length, digest(stdout), stderr.length, digest(stderr)], [5_000_000, want, 5_000_000, want])
  },

  'three hundred kilobytes and exit 3 arrive whole forty times': async (gateway) => {
    const want = digest('0123456789abcde\n'.repeat(18_750))
    for (let i = 0; i < 10; i++) {
      const four = Array.from({ length: 4 }, () => gateway.run('yes 0123456789abcde | head -c 300000; exit 3'))
      for (const { code, stdout } of await Promise.all(four)) {
        assert.deepEqual([code, stdout.length, digest(stdout)], [3, 300_000, want])
      }
    }
  },

  'output comes while the command runs': (gateway) =>
    using(gateway.sh('printf first; read x; echo second'), async (attached) => {
      await attached.shows(/^first$/)
      attached.send('\n')
      assert.equal((await attached.end()).stdout, 'firstsecond\n')
    }),

  'a reader that pauses loses nothing': async (gateway) => {
    const attached = gateway.sh('yes 0123456789abcde | head -c 5000000')
    await attached.opened
    attached.ws.pause()
    assert.equal((await gateway.run('echo meanwhile')).stdout, 'meanwhile\n')
    attached.ws.resume()
    assert.equal(digest((await attached.end()).stdout), digest('0123456789abcde\n'.repeat(312_500)))
  },

  'arguments arrive as they are': async (gateway) => {
    const args = ['two words', '"quoted"', "it's", '$HOME', '`id`', '', '*', 'a\nb', 'é😀', '-n', 'a+b&c=d%20', '; echo no', '\\']
    const { stdout } = await gateway.attach('printf', ['<%s>', ...args]).end()
    assert.equal(stdout, args.map((a) => `<${a}>`).join(''))
  },

  'a hundred arguments keep their order': async (gateway) => {
    const args = Array.from({ length: 100 }, (_, i) => `${i}`)
    assert.equal((await gateway.attach('printf', ['%s,', ...args]).end()).stdout, args.map((a) => `${a},`).join(''))
  },

  'a command that does not exist fails': async (gateway) => {
    const attached = gateway.attach('no-such-command-anywhere')
    const { status } = await Promise.race([attached.refused, attached.closed])
    if (status) return assert.ok(status >= 400, `the status is ${status}`)
    assert.notEqual((await attached.end()).code, 0)
  },

  'two clients have processes of their own': (gateway) =>
    using(gateway.sh('read a; echo "one $a"'), (one) =>
      using(gateway.sh('read a; echo "two $a"; exit 2'), async (two) => {
        two.send('b\n')
        assert.deepEqual(await two.end(), { code: 2, stdout: 'two b\n', stderr: '' })
        one.send('a\n')
        assert.deepEqual(await one.end(), { code: 0, stdout: 'one a\n', stderr: '' })
      }),
    ),
}
