// Sessions that outlive a client, that several clients share, and that have panes.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { using } from './attach.mjs'

const named = (more = {}) => ({ session: `s-${randomUUID()}`, ...more })

/** Answers every line with its number and itself, until the line is end. */
const ANSWER = 'n=0; while read a; do n=$((n+1)); echo "$n:$a"; [ "$a" = end ] && exit 4; done'

export const calls = {
  'session: a client comes back and gets what it missed, without a gap': async (gateway) => {
    const session = named()
    const first = gateway.sh(ANSWER, session)
    await first.opened
    first.send('a\n')
    await first.shows(/1:a\n/)
    assert.equal((await first.leave()).code, 1000)
    await using(gateway.attach(undefined, [], session), async (again) => {
      await again.shows(/^1:a\n$/)
      again.send('b\nend\n')
      assert.deepEqual(await again.end(), { code: 4, stdout: '1:a\n2:b\n3:end\n', stderr: '' })
    })
  },

  'session: the exit comes to who joins afterwards': async (gateway) => {
    const session = named()
    const ended = await gateway.run('echo done; exit 8', session)
    assert.deepEqual(await gateway.attach(undefined, [], session).end(), ended)
    assert.equal(ended.code, 8)
  },

  'session: an unknown one is not found': async (gateway) => {
    assert.equal((await gateway.attach(undefined, [], named()).refused).status, 404)
  },

  'shared: all clients see all, and a viewer sends nothing': (gateway) => {
    const session = named()
    return using(gateway.sh(ANSWER, { ...session, role: 'driver' }), (driver) =>
      using(gateway.attach(undefined, [], { ...session, role: 'viewer' }), async (viewer) => {
        viewer.send('from the viewer\n').signal('SIGKILL')
        assert.match((await viewer.says('error')).message, /viewer/)
        driver.send('x\nend\n')
        const want = { code: 4, stdout: '1:x\n2:end\n', stderr: '' }
        assert.deepEqual([await driver.end(), await viewer.end()], [want, want])
      }),
    )
  },

  'shared: those who collaborate both send': (gateway) => {
    const session = named()
    return using(gateway.sh(ANSWER, session), (one) =>
      using(gateway.attach(undefined, [], { ...session, role: 'collaborative' }), async (two) => {
        two.send('two\n')
        await one.shows(/1:two\n/)
        one.send('one\nend\n')
        assert.equal((await two.end()).stdout, '1:two\n2:one\n3:end\n')
        assert.equal((await one.end()).code, 4)
      }),
    )
  },

  'panes: each has its streams, its input and its end': (gateway) =>
    using(gateway.sh(ANSWER), async (attached) => {
      attached.control({ type: 'open', pane: 'left', cmd: 'sh', args: ['-c', 'read a; echo "left $a"; echo bad >&2; exit 9'] })
      const { pane, stdout, stderr } = await attached.says('opened')
      assert.equal(pane, 'left')
      assert.equal(new Set([1, 2, stdout, stderr]).size, 4, `the streams are ${stdout} and ${stderr}`)
      attached.send('to main\n')
      await attached.shows(/1:to main\n/)
      attached.control({ type: 'stdin', pane: 'left', data: 'to é\n' })
      assert.deepEqual(await attached.says('closed'), { type: 'closed', pane: 'left', code: 9 })
      assert.deepEqual([attached.output(stdout).toString(), attached.output(stderr).toString()], ['left to é\n', 'bad\n'])
      attached.send('end\n')
      assert.deepEqual(await attached.end(), { code: 4, stdout: '1:to main\n2:end\n', stderr: '' })
    }),

  'panes: input for one that is not there is an error': (gateway) =>
    using(gateway.sh(ANSWER), async (attached) => {
      attached.control({ type: 'stdin', pane: 'nowhere', data: 'lost\n' })
      assert.match((await attached.says('error')).message, /nowhere/)
      attached.send('end\n')
      assert.equal((await attached.end()).stdout, '1:end\n')
    }),
}
