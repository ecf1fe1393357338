// A server of stdio over WebSocket, made of the npm package ws: the basic protocol and nothing else.
//
//   node server.mjs [ODDITY ...]
//
// It listens on a free port of 127.0.0.1 and prints the URL of the WebSocket; with several oddities, it is as many servers, and
// prints their URLs in the same order. It has no terminals, no sessions and no
// process service. ASSAY_TOKEN, when it is set, is the token that it demands. ODDITY is one of bugs, each a mistake that a
// server like this is easily written with, or of variants, which the protocol allows.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { constants } from 'node:os'
import { WebSocketServer } from 'ws'

const bugs = [
  'close-without-code', // ws.close() sends a close frame without a code: 1005 for the client
  'code-of-a-signal-null', // Node's code of a process that a signal killed
  'control-in-binary', // JSON is taken for a message, in whatever frame it comes
  'exit-missing', // Close 1000 alone
  'exit-on-exit', // the event of the process, not that of its streams: what is still in the pipes is lost
  'exit-twice', // on exit and on close
  'lives-on', // nothing ends the process when its client has gone
  'output-as-text', // setEncoding('utf8')
  'output-at-the-end', // collected until the process ends
  'shell', // spawn(…, {shell: true})
  'signal-unknown-fatal', // kill throws, and nothing catches it but the session
  'stderr-as-stdout', // one stream id for both
  'stdin-as-text', // data.toString()
  'text-as-stdin', // what is no message is typed
]
const variants = [
  'compressing', // permessage-deflate is accepted
  'silent', // no error message, and a shell when no command is named
]

const oddities = process.argv.slice(2)
if (oddities.some((o) => ![...bugs, ...variants].includes(o))) {
  console.error(`usage: node server.mjs [${[...bugs, ...variants].join('|')} ...]`)
  process.exit(2)
}
const token = process.env.ASSAY_TOKEN || undefined

const STDOUT = 1
const STDERR = 2

/** The largest message of a client, and what may wait for a client, or for a process, before its source has to wait. */
const LIMIT = 1 << 20

const HOW = 'Stdio over WebSocket: GET /attach?cmd=COMMAND&arg=ARGUMENT with Upgrade: websocket\n'

/** Listens with an oddity, or without one if it is undefined, and returns the URL. */
async function listen(oddity) {
  const has = (name) => name === oddity
  const sockets = new WebSocketServer({ noServer: true, maxPayload: LIMIT, perMessageDeflate: has('compressing') })
  const server = createServer((request, response) => {
    const found = new URL(request.url, 'http://localhost').pathname === '/attach'
    response.writeHead(found ? 200 : 404, { 'content-type': 'text/plain' })
    response.end(found ? HOW : 'Not found\n')
  })
  server.on('upgrade', (request, socket, head) => {
    const url = new URL(request.url, 'http://localhost')
    const refused = refusal(has, request, url)
    if (refused) {
      const [status, body, more = ''] = refused
      socket.on('error', () => {}) // the client has gone
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`)
      return
    }
    sockets.handleUpgrade(request, socket, head, (ws) => attach(has, ws, url.searchParams.get('cmd') || 'sh', url.searchParams.getAll('arg')))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `ws://127.0.0.1:${server.address().port}/attach`
}

const running = new Set()
process.once('SIGINT', () => {
  for (const child of running) child.kill('SIGKILL')
  process.exit(0)
})
for (const oddity of oddities.length > 0 ? oddities : [undefined]) console.log(await listen(oddity))

/** The status, the body and further fields with which a handshake is refused; undefined when it is not, and ws looks at the rest. */
function refusal(has, { method, httpVersion, headers }, { pathname, searchParams }) {
  const given = searchParams.get('token') ?? headers.authorization?.replace(/^Bearer /, '')
  if (pathname !== '/attach') return ['404 Not Found', 'Not found\n']
  if (method !== 'GET') return ['405 Method Not Allowed', 'only GET\n', 'Allow: GET\r\n']
  if (httpVersion !== '1.1') return ['400 Bad Request', 'only HTTP/1.1\n']
  if (token && !given) return ['401 Unauthorized', 'Unauthorized']
  if (token && given !== token) return ['401 Unauthorized', 'Invalid token']
  if (headers.origin && headers.origin.replace(/^https?:\/\//, '') !== headers.host) return ['403 Forbidden', 'a page of another origin\n']
  if (!searchParams.get('cmd') && !has('silent')) return ['400 Bad Request', 'cmd is missing\n']
  if (/\0/.test([...searchParams.values()])) return ['400 Bad Request', 'a NUL byte\n']
}

/** Runs a command and connects it to ws. has tells whether the server has an oddity. */
function attach(has, ws, cmd, args) {
  const child = spawn(cmd, args, { shell: has('shell') })
  running.add(child)
  child.on('close', () => running.delete(child))
  const output = (stream) => (chunk) => send(ws, child, Buffer.concat([Buffer.of(stream), Buffer.from(chunk)]))
  follow(has, child.stdout, output(STDOUT))
  follow(has, child.stderr, output(has('stderr-as-stdout') ? STDOUT : STDERR))

  const exit = (code, signal) => {
    if (!has('exit-missing')) ws.send(JSON.stringify({ type: 'exit', code: has('code-of-a-signal-null') ? code : code ?? 128 + constants.signals[signal] }))
  }
  const finish = (code, signal) => {
    exit(code, signal)
    ws.resume() // to see the close frame of the client
    has('close-without-code') ? ws.close() : ws.close(1000)
  }
  child.on('error', (error) => { // it could not be started
    output(STDERR)(`${cmd}: ${error.code}\n`)
    finish(127)
  })
  if (has('exit-twice')) child.on('exit', exit)
  child.on(has('exit-on-exit') ? 'exit' : 'close', (code, signal) => {
    if (child.pid !== undefined) finish(code, signal)
  })

  ws.on('message', (data, isBinary) => receive(has, ws, child, data, isBinary))
  child.stdin.on('drain', () => ws.resume())
  child.stdin.on('error', () => ws.resume()) // it reads no more
  const gone = () => {
    child.stdout.resume()
    child.stderr.resume()
    if (!has('lives-on')) child.kill('SIGTERM')
  }
  ws.on('close', gone)
  ws.on('error', gone) // a frame that is not allowed: ws closes with the right code
}

/** Passes on what a stream of a process says. */
function follow(has, stream, output) {
  if (has('output-as-text')) stream.setEncoding('utf8')
  if (has('exit-on-exit')) { // a reader that is always one chunk behind: the last one is still there when the process exits
    let behind
    return stream.on('data', (chunk) => {
      if (behind) output(behind)
      behind = chunk
    })
  }
  if (!has('output-at-the-end')) return stream.on('data', output)
  const all = []
  stream.on('data', (chunk) => all.push(chunk))
  stream.on('end', () => all.forEach(output))
}

/** Sends output. The process waits while much of it waits for the client. */
function send(ws, child, message) {
  if (ws.readyState !== ws.OPEN) return
  ws.send(message, () => {
    if (ws.bufferedAmount > LIMIT) return
    child.stdout.resume()
    child.stderr.resume()
  })
  if (ws.bufferedAmount <= LIMIT) return
  child.stdout.pause()
  child.stderr.pause()
}

/** Takes a message of the client: binary is stdin, text is control. */
function receive(has, ws, child, data, isBinary) {
  if (isBinary && !(has('control-in-binary') && parse(data)?.type)) return write(has, ws, child, data)
  const wrong = control(has, ws, child, parse(data))
  if (!wrong) return
  if (has('text-as-stdin')) return write(has, ws, child, data)
  if (!has('silent') && ws.readyState === ws.OPEN) ws.send(JSON.stringify({ type: 'error', message: wrong }))
}

/** Writes stdin. The client waits while the process does not read. */
function write(has, ws, child, data) {
  child.stdin.write(has('stdin-as-text') ? data.toString() : data)
  if (child.stdin.writableLength > LIMIT && child.stdin.writable) ws.pause()
}

/** Does what a control message says, and returns what is wrong with it, if anything is. */
function control(has, ws, child, message) {
  switch (message?.type) {
    case 'signal':
      if (typeof message.signal === 'string' && Object.hasOwn(constants.signals, message.signal)) return void child.kill(message.signal)
      if (has('signal-unknown-fatal')) ws.close(1011)
      return `signal: unknown signal ${JSON.stringify(message.signal)}`
    case 'resize': // there is no terminal
      return [message.cols, message.rows].every((n) => Number.isInteger(n) && n > 0 && n < 65536) ? undefined : 'resize: not a size'
  }
  return 'not a control message of a known type'
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
