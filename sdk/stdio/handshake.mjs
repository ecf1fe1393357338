// What opens a WebSocket, and what does not.
import assert from 'node:assert/strict'

/** The status and body of the refusal of a handshake. */
async function refusal(attached) {
  const refused = await Promise.race([attached.refused, attached.opened])
  assert.ok(refused, 'the handshake was accepted')
  return refused
}

export const calls = {
  'a GET without an upgrade gets text': async (gateway) => {
    const response = await fetch(`${gateway.url}/attach?cmd=true`, { headers: gateway.token ? { authorization: `Bearer ${gateway.token}` } : {} })
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type'), /^text\/plain/)
    assert.ok((await response.text()).length > 0)
  },

  'a handshake without a command is refused': async (gateway) => {
    assert.equal((await refusal(gateway.attach(undefined))).status, 400)
  },

  'no subprotocol and no extension is selected': async (gateway) => {
    const attached = gateway.sh('exit 0', {})
    await attached.end()
    assert.deepEqual([attached.ws.protocol, attached.ws.extensions], ['', ''])
  },
}

/** Calls for a gateway without a token, which every page of a browser on this machine could use. */
export const open = {
  'a page of a foreign origin is refused': async (gateway) => {
    assert.equal((await refusal(gateway.attach('true', [], {}, { origin: 'https://elsewhere.example' }))).status, 403)
  },
}

/** Calls that only a gateway with a token can answer. */
export const guarded = {
  'no token is Unauthorized': async (gateway) => {
    assert.deepEqual(await refusal(gateway.attach('true', [], {}, { headers: {} })), { status: 401, body: 'Unauthorized' })
  },

  'a wrong token is an Invalid token': async (gateway) => {
    const want = { status: 401, body: 'Invalid token' }
    assert.deepEqual(await refusal(gateway.attach('true', [], {}, { headers: { authorization: 'Bearer wrong' } })), want)
    assert.deepEqual(await refusal(gateway.attach('true', [], { token: 'wrong' }, { headers: {} })), want)
  },

  'the token may be in the query': async (gateway) => {
    assert.equal((await gateway.attach('echo', ['in'], { token: gateway.token }, { headers: {} }).end()).stdout, 'in\n')
  },
}
