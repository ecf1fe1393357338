// A gateway and its WebSockets, as a client of stdio over WebSocket sees them.
import assert from 'node:assert/strict'
import { WebSocket } from 'ws'
import { until } from '../calls/tools.mjs'

const STDOUT = 1
const STDERR = 2

/** A gateway whose /attach the calls use. */
export class Gateway {
  #open = new Set()

  constructor(url, token) {
    this.url = url
    this.token = token
  }

  /**
   * Asks for a WebSocket that runs cmd with args. query holds further parameters; options are those of the
   * npm package. The token goes into the header, unless options has headers.
   */
  attach(cmd, args = [], query = {}, options = {}) {
    const url = new URL('/attach', this.url.replace(/^http/, 'ws'))
    if (cmd !== undefined) url.searchParams.set('cmd', cmd)
    for (const arg of args) url.searchParams.append('arg', arg)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const attached = new Attached(new WebSocket(url, { headers: this.token ? this.#authorization : {}, ...options }))
    this.#open.add(attached)
    Promise.race([attached.refused, attached.closed]).then(() => this.#open.delete(attached))
    return attached
  }

  /** Runs a script in a shell, whose $1 and so on are rest. */
  sh(script, query = {}, ...rest) {
    return this.attach('sh', ['-c', script, 'sh', ...rest], query)
  }

  /** Runs a script to its end, and returns how it ended. */
  run(script, query) {
    return this.sh(script, query).end()
  }

  get #authorization() {
    return { authorization: `Bearer ${this.token}` }
  }

  /** Calls a method of the process service. */
  async process(method, message) {
    const response = await fetch(`${this.url}/process.Process/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'connect-protocol-version': '1', ...(this.token && { 'x-access-token': this.token }) },
      body: JSON.stringify(message),
      signal: AbortSignal.timeout(30_000),
    })
    const body = await response.json()
    assert.ok(response.ok, `${method}: ${response.status} ${JSON.stringify(body)}`)
    return body
  }

  /** The processes of the list. */
  async list() {
    return (await this.process('List', {})).processes ?? []
  }

  /** The pid of the process that has word among its arguments; undefined when it is not in the list. */
  async pid(word) {
    return (await this.list()).find((p) => p.config.args?.includes(word))?.pid
  }

  kill(pid) {
    return this.process('SendSignal', { process: { pid }, signal: 'SIGNAL_SIGKILL' })
  }

  /**
   * Ends what is still connected and, if there is a list, what is still in it; returns what that was. A process whose client has gone
   * may take its time to end.
   */
  async clear(hasList) {
    const left = []
    for (const attached of this.#open) {
      left.push(`connected: ${attached}`)
      attached.ws.terminate()
    }
    if (!hasList) return left
    await until('the processes to end', async () => (await this.list()).length === 0).catch(() => {})
    for (const p of await this.list()) {
      left.push([p.config.cmd, ...(p.config.args ?? [])].join(' '))
      await this.kill(p.pid).catch(() => {}) // it may have ended by now
    }
    return left
  }
}

/**
 * One WebSocket with what came on it. It checks what holds for every session: the first byte of output is a known stream and
 * is followed by output, the exit message is the last message, and comes once.
 */
export class Attached {
  #out = new Map() // chunks of output by stream
  #wrong // the first breach
  #query

  texts = [] // text messages but the exit, parsed
  pongs = []
  exit // of the exit message

  constructor(ws) {
    this.ws = ws
    this.#query = decodeURIComponent(new URL(ws.url).search)
    ws.on('message', (data, isBinary) => this.#message(data, isBinary))
    ws.on('pong', (data) => this.pongs.push(data.toString('latin1')))
    /** Is the refusal of the handshake: {status, body}. */
    this.refused = new Promise((resolve) => {
      ws.on('unexpected-response', async (request, response) => {
        let body = ''
        for await (const piece of response) body += piece
        resolve({ status: response.statusCode, body })
        request.destroy()
      })
    })
    /** Is {code, reason} of the close frame that the server sent; 1005 without a code, 1006 without a frame. */
    this.closed = new Promise((resolve) => ws.on('close', (code, reason) => resolve({ code, reason: reason.toString() })))
    /** Is fulfilled when the WebSocket is open, and rejected when it will not be. */
    this.opened = new Promise((resolve, reject) => {
      ws.on('open', resolve)
      ws.on('error', reject)
      this.refused.then(({ status, body }) => reject(new Error(`the handshake got ${status}: ${body}`)))
    })
    this.opened.catch(() => {}) // of interest only to who waits for it
  }

  toString() {
    return this.#query
  }

  #message(data, isBinary) {
    if (this.exit !== undefined) this.#wrong ??= `a message of ${data.length} bytes came behind the exit message`
    if (isBinary) {
      if (data.length < 2) this.#wrong ??= `a binary message has ${data.length} bytes`
      if (!this.#out.has(data[0])) this.#out.set(data[0], [])
      this.#out.get(data[0]).push(data.subarray(1))
      return
    }
    const message = JSON.parse(data)
    if (message.type === 'exit') this.exit = message.code
    else this.texts.push(message)
  }

  /** What came on a stream so far. */
  output(stream) {
    return Buffer.concat(this.#out.get(stream) ?? [])
  }

  get stdout() {
    return this.output(STDOUT)
  }

  get stderr() {
    return this.output(STDERR)
  }

  /** Waits until stdout, or another stream, matches. */
  async shows(pattern, stream = STDOUT) {
    await this.opened
    const text = () => this.output(stream).toString()
    return until(`stream ${stream} to show ${pattern}`, () => pattern.exec(text()), () => [text().slice(-300), this.exit, ...this.texts])
  }

  /** Waits for a text message of a type. */
  async says(type) {
    await this.opened
    return until(`a message ${type}`, () => this.texts.find((m) => m.type === type), () => this.texts)
  }

  /** Sends stdin. */
  send(data) {
    this.ws.send(Buffer.from(data))
    return this
  }

  /** Sends a control message. */
  control(message) {
    this.ws.send(typeof message === 'string' ? message : JSON.stringify(message))
    return this
  }

  signal(name) {
    return this.control({ type: 'signal', signal: name })
  }

  eof() {
    return this.control({ type: 'eof' })
  }

  /** Waits for the end, which must be normal: the exit message, then Close 1000. */
  async end() {
    await this.opened
    const { code } = await this.closed
    assert.equal(this.#wrong, undefined)
    assert.equal(code, 1000, `the close code is ${code}, the exit code ${this.exit}`)
    assert.ok(Number.isInteger(this.exit), `the exit code is ${this.exit}`)
    return { code: this.exit, stdout: this.stdout.toString(), stderr: this.stderr.toString() }
  }

  /** Closes from this side, and returns the close frame of the server. */
  async leave(code = 1000, reason = '') {
    await this.opened
    this.ws.close(code, reason)
    return this.closed
  }

  /** Kills the process and waits for the end, unless it has come. */
  async killed() {
    if (this.ws.readyState === WebSocket.OPEN) this.signal('SIGKILL')
    await this.closed
  }
}

/** Runs use with a WebSocket, and ends its process afterwards. */
export async function using(attached, use) {
  try {
    await attached.opened
    return await use(attached)
  } finally {
    await attached.killed()
  }
}
