// Health, and what a gateway refuses: the class of the error is what programs decide by.
import assert from 'node:assert/strict'
import { AuthenticationError, InvalidArgumentError } from 'e2b'
import { rejects } from './tools.mjs'

export const calls = {
  'isRunning is true': async ({ sandbox }) => {
    assert.equal(await sandbox.isRunning(), true)
  },

  'a cwd that does not exist is an InvalidArgumentError': async ({ sandbox }) => {
    await rejects(sandbox.commands.run('pwd', { cwd: '/no/such/directory' }), InvalidArgumentError)
  },

  'a cwd that is a file is an InvalidArgumentError': async ({ sandbox }) => {
    await rejects(sandbox.commands.run('pwd', { cwd: '/bin/sh' }), InvalidArgumentError)
  },

  'a command with a NUL in it is an InvalidArgumentError': async ({ sandbox }) => {
    await rejects(sandbox.commands.run('echo a\0b'), InvalidArgumentError)
  },

  'an unknown user is an AuthenticationError': async ({ sandbox }) => {
    await rejects(sandbox.commands.run('true', { user: 'nobody-of-that-name' }), AuthenticationError)
  },

  'after a refusal the same client goes on': async ({ sandbox }) => {
    await rejects(sandbox.commands.run('pwd', { cwd: '/no/such/directory' }), InvalidArgumentError)
    assert.equal((await sandbox.commands.run('echo on')).stdout, 'on\n')
    assert.deepEqual(await sandbox.commands.list(), [])
  },
}

/** Calls that only a gateway with a token can answer. */
export const guarded = {
  'a wrong token is an AuthenticationError for every call': async ({ withToken }) => {
    const stranger = withToken('wrong')
    await rejects(stranger.commands.run('true'), AuthenticationError)
    await rejects(stranger.commands.list(), AuthenticationError)
    await rejects(stranger.commands.kill(1), AuthenticationError)
    await rejects(stranger.commands.connect(1), AuthenticationError)
    await rejects(stranger.commands.sendStdin(1, 'x'), AuthenticationError)
  },

  'no token is an AuthenticationError': async ({ withToken }) => {
    await rejects(withToken(undefined).commands.run('true'), AuthenticationError)
  },

  'isRunning needs no token': async ({ withToken }) => {
    assert.equal(await withToken(undefined).isRunning(), true)
  },
}
