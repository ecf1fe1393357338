// A server of stdio over WebSocket for Bun, made as people make one for their sandbox: some forty lines, no library, no tests.
//
//   PORT=8080 bun bun.mjs [caught] [sends]
//
// It listens on that port of 127.0.0.1, or on a free one, and prints the URL of the WebSocket. Without a word it behaves thus:
//
//   - It sends nothing, ever: no output, no exit message, no Close frame. It compares readyState with the constant OPEN of
//     its WebSocket, which a WebSocket of a browser has, and one of Bun's server has not.
//   - Input for a process that has closed its stdin, or has ended, ends the server: flush throws EPIPE, and nothing catches it.
//   - So does a command that cannot be started, such as one that does not exist, or an argument with a NUL byte: spawn throws.
//   - A signal message without a name is SIGTERM.
//   - There is no token, and no look at the Origin. A GET without an upgrade gets a text.
//
// "caught" lets the server live on after what it does not catch. "sends" is the least change that makes it send; only then it shows that
//
//   - the exit message waits for the process, not for its output;
//   - what a client does not take waits in the server, and what is more than Bun holds is dropped.
const traits = process.argv.slice(2)
const open = (ws) => ws.readyState === (traits.includes('sends') ? 1 : ws.OPEN)
if (traits.includes('caught')) for (const end of ['uncaughtException', 'unhandledRejection']) process.on(end, (error) => console.error(error.message))

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: process.env.PORT ?? 0,

  fetch(request, server) {
    const query = new URL(request.url).searchParams
    if (server.upgrade(request, { data: { command: [query.get('cmd') ?? 'bash', ...query.getAll('arg')] } })) return
    return new Response('stdio over WebSocket\n')
  },

  websocket: {
    open(ws) {
      const child = Bun.spawn(ws.data.command, { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' })
      ws.data.child = child
      pass(ws, 1, child.stdout).catch(() => {})
      pass(ws, 2, child.stderr).catch(() => {})
      child.exited.then((code) => {
        if (!open(ws)) return
        ws.send(JSON.stringify({ type: 'exit', code }))
        ws.close()
      })
    },

    message({ data: { child } }, message) {
      if (!child) return
      if (typeof message === 'string') return control(child, message)
      child.stdin.write(message)
      child.stdin.flush()
    },

    close({ data: { child } }) {
      child?.kill('SIGTERM')
    },
  },
})

/** Sends what a stream of a process says. */
async function pass(ws, id, stream) {
  for await (const chunk of stream) {
    if (!open(ws)) break
    ws.send(Buffer.concat([Buffer.of(id), chunk]))
  }
}

/** Obeys a signal; a size means nothing to a pipe. */
function control(child, text) {
  try {
    const message = JSON.parse(text)
    if (message.type === 'signal') child.kill(message.signal)
  } catch {}
}

console.log(`ws://127.0.0.1:${server.port}/attach`)
