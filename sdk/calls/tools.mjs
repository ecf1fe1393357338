// What several calls share: waiting for something seen, collecting terminal
// output, and an address that hangs up when it is told to.
import assert from 'node:assert/strict'
import net from 'node:net'

/** How long anything that a call waits for may take, in milliseconds. */
export const PATIENCE_MS = 30_000

/**
 * Waits until probe returns (or resolves to) something true, and returns that.
 * It is asked again every 5 ms; after PATIENCE_MS the wait is an error that
 * says what was waited for and what was seen last.
 */
export async function until(what, probe, seen = () => undefined) {
  const end = Date.now() + PATIENCE_MS
  for (;;) {
    const got = await probe()
    if (got) return got
    if (Date.now() > end) {
      const last = seen()
      throw new Error(`waited ${PATIENCE_MS} ms for ${what}` + (last === undefined ? '' : `; seen: ${JSON.stringify(last)}`))
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** The error that promise is rejected with. Being fulfilled is a failure. */
export async function failure(promise) {
  let value
  try {
    value = await promise
  } catch (error) {
    return error
  }
  return assert.fail(`an error was expected, and the call returned ${JSON.stringify(value)}`)
}

/**
 * Wants promise to be rejected with exactly this class (no subclass), and
 * returns the error.
 */
export async function rejects(promise, Class, message = /./) {
  const error = await failure(promise)
  assert.equal(error?.constructor?.name, Class.name, `the error is ${error?.constructor?.name}: ${error?.message}`)
  assert.ok(error instanceof Class, `the error is no ${Class.name} of this SDK`)
  assert.match(error.message, message)
  return error
}

/** Whether the process is in the list of what runs. */
export async function isListed(sandbox, pid) {
  return (await sandbox.commands.list()).some((p) => p.pid === pid)
}

/** Waits until the process is no longer in the list. */
export async function unlisted(sandbox, pid) {
  await until(`process ${pid} to leave the list`, async () => !(await isListed(sandbox, pid)))
}

/**
 * Runs use with a process in the background, and kills the process when it is
 * still there afterwards, so that a call that fails leaves nothing behind.
 */
export async function withProcess(sandbox, command, options, use) {
  const handle = await sandbox.commands.run(command, { ...options, background: true })
  try {
    return await use(handle)
  } finally {
    await sandbox.commands.kill(handle.pid)
  }
}

/** Output of a terminal as text, in the order in which it came. */
export class Screen {
  #decoder = new TextDecoder()
  text = ''

  /** To be given as onData. */
  onData = (bytes) => {
    assert.ok(bytes instanceof Uint8Array, 'terminal output comes as bytes')
    this.text += this.#decoder.decode(bytes, { stream: true })
  }

  /** Waits until the output matches, and returns the match. */
  shows(pattern) {
    return until(`the terminal to show ${pattern}`, () => pattern.exec(this.text), () => this.text)
  }
}

/**
 * An address that passes every connection on to target and hangs up when it is
 * told to: the network between a client and its gateway.
 */
export class Wire {
  #server
  #target
  #open = new Set()

  static async to(target) {
    const wire = new Wire()
    wire.#target = new URL(target)
    const { hostname, port } = wire.#target
    wire.#server = net.createServer((near) => {
      const far = net.connect(Number(port), hostname)
      for (const [from, to] of [[near, far], [far, near]]) {
        wire.#open.add(from)
        from.on('error', () => to.destroy())
        from.on('close', () => { wire.#open.delete(from); to.destroy() })
        from.pipe(to)
      }
    })
    await new Promise((resolve) => wire.#server.listen(0, '127.0.0.1', resolve))
    return wire
  }

  get url() {
    const url = new URL(this.#target)
    url.port = this.#server.address().port
    return url.href.replace(/\/$/, '')
  }

  /** Cuts what is connected. New connections are taken as before. */
  hangUp() {
    for (const socket of this.#open) socket.destroy()
  }

  close() {
    this.#server.close()
    this.hangUp()
  }
}
