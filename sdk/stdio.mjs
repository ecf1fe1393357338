// A client of stdio over WebSocket, made of the npm package ws, against a gateway, call by call.
//
//   node stdio.mjs URL MODE [PATTERN]
//
// URL is where the gateway listens (http or https). MODE is what its commands are ("virtual" or "os"), or "bare" for a server that
// has nothing but the basic protocol. Only calls whose name matches the regular expression PATTERN run.
// ASSAY_TOKEN, when it is set, is the token that the gateway demands. run.mjs says what is printed.
import { byHand } from './run.mjs'
import { Gateway } from './stdio/attach.mjs'
import { calls as commands } from './stdio/commands.mjs'
import { calls as control } from './stdio/control.mjs'
import { calls as end, listed } from './stdio/end.mjs'
import { calls as frames } from './stdio/frames.mjs'
import { calls as handshake, guarded, open as anyone } from './stdio/handshake.mjs'
import { calls as input, ended } from './stdio/input.mjs'
import { calls as pty } from './stdio/pty.mjs'
import { calls as sessions } from './stdio/sessions.mjs'

async function open({ url, mode, token }) {
  const gateway = new Gateway(url, token)
  const calls = [commands, input, control, frames, handshake, end, token ? guarded : anyone]
  if (mode !== 'bare') calls.push(ended, listed, pty, sessions)
  /** Ends what still runs, and returns what it was; without a list, what is still connected. */
  const clear = () => gateway.clear(mode !== 'bare')
  return { calls, world: gateway, clear }
}

export const program = { client: 'ws', modes: ['virtual', 'os', 'bare'], open }

await byHand(import.meta.url, program)
