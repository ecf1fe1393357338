// What runs calls one after another and reports each, whatever makes them.
//
// A program is {client, modes, open}: client is the npm package that makes the calls, modes are the words that MODE may be, and
// open({url, mode, token}) returns what a run needs: {calls, world, clear, end}. Each call is given world; clear kills what a
// call left running and returns what that was, and end, if there is one, ends what the calls shared.
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync, realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** What one call may take before it counts as hung, in milliseconds. */
const CALL_LIMIT_MS = 60_000

/** The run that the code belongs to: several go on side by side. */
const current = new AsyncLocalStorage()
const running = new Set()

// The SDK is configured by variables: each run has its own.
process.env = new Proxy(process.env, {
  get: (env, name) => current.getStore()?.env[name] ?? env[name],
  set: (env, name, value) => Reflect.set(current.getStore()?.env ?? env, name, value),
})

// An unhandled rejection is a defect of a call or of the client: it fails the call that runs. One of no run fails those of all.
process.on('unhandledRejection', (error) => {
  const run = current.getStore()
  for (const { stray } of run ? [run] : running) stray.push(`unhandled: ${text(error)}`)
})

process.on('uncaughtExceptionMonitor', () => {
  const run = current.getStore()
  if (run) console.error(`in the call ${JSON.stringify(run.call)} to ${run.url}:`)
})

/**
 * Makes the calls of a program whose names match pattern, and reports to print: {begins} when a call begins, {name, ok, ms, error} when it
 * has ended, and in the end {summary: {mode, client, node, calls, failed, ms}}. It returns how many failed.
 */
export function run(program, { url, mode, pattern, token }, print) {
  const state = { url, call: '', env: {}, stray: [] }
  running.add(state)
  const make = async () => {
    const { calls, world, clear, end } = await program.open({ url, mode, token })
    const wanted = calls.flatMap(Object.entries).filter(([name]) => new RegExp(pattern).test(name))
    const began = performance.now()
    let failed = 0
    for (const [name, call] of wanted) {
      state.call = name
      print({ begins: name })
      const verdict = await judge(call, world, clear)
      if (state.stray.length > 0) {
        verdict.ok = false
        verdict.error = [verdict.error, ...state.stray.splice(0)].filter(Boolean).join('; ')
      }
      if (!verdict.ok) failed++
      print({ name, ...verdict })
    }
    await end?.()
    const { client } = program
    const { version } = JSON.parse(readFileSync(new URL(`node_modules/${client}/package.json`, import.meta.url), 'utf8'))
    const ms = Math.round(performance.now() - began)
    print({ summary: { mode, client: `${client} ${version}`, node: process.version, calls: wanted.length, failed, ms } })
    return failed
  }
  return current.run(state, make).finally(() => running.delete(state))
}

/**
 * Runs a program as the command line says, if it names the file at address: URL MODE [PATTERN], and ASSAY_TOKEN is the token.
 *
 * Stdout is one JSON object per line: one for each call that has ended, then the summary. Exit code 0 means that every call
 * was right, 1 that one was not, 2 that the arguments are wrong.
 */
export async function byHand(address, program) {
  const [, file, url, mode, pattern = ''] = process.argv
  if (realpathSync(file) !== fileURLToPath(address)) return
  if (!url || !program.modes.includes(mode)) {
    console.error(`usage: node ${file} URL ${program.modes.join('|')} [PATTERN]`)
    process.exit(2)
  }
  const failed = await run(program, { url, mode, pattern, token: process.env.ASSAY_TOKEN || undefined }, (value) => {
    if (!value.begins) printLine(value)
  })
  // Connections of a pool would keep the process alive.
  process.stdout.write('', () => process.exit(failed > 0 ? 1 : 0))
}

export const printLine = (value) => process.stdout.write(`${JSON.stringify(value)}\n`)

/** Runs one call; a call that left a process running has failed too. */
async function judge(call, world, clear) {
  const began = performance.now()
  let error
  try {
    await within(CALL_LIMIT_MS, call(world))
  } catch (e) {
    error = e
  }
  const ms = Math.round((performance.now() - began) * 10) / 10
  const left = await clear().catch((e) => [`the list could not be read: ${text(e)}`])
  error ??= left.length > 0 ? new Error(`left running: ${left.map((s) => s.slice(0, 80)).join(', ')}`) : undefined
  return { ok: !error, ms, error: error && text(error) }
}

async function within(ms, promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no result after ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The error with the line of the call that it came from, without endless values. */
export function text(error) {
  const message = `${error?.constructor?.name ?? 'error'}: ${error?.message ?? error}`
  const short = message.length > 1200 ? `${message.slice(0, 800)} … ${message.slice(-300)}` : message
  const at = /(?:calls|stdio)\/(?!tools|attach)\w+\.mjs:\d+/.exec(error?.stack ?? '')
  return at ? `${short} (${at[0]})` : short
}
