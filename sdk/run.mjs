// What runs calls one after another and reports each, whatever makes them.
//
// Stdout is one JSON object per line: {"name","ok","ms","error"} for each call, then
// {"summary":{"mode","client","node","calls","failed","ms"}}. Exit code 0 means that every call
// was right, 1 that one was not, 2 that the arguments are wrong.
import { readFileSync } from 'node:fs'

/** What one call may take before it counts as hung, in milliseconds. */
const CALL_LIMIT_MS = 60_000

/** The arguments URL MODE [PATTERN] of a program that runs calls. */
export function given(...modes) {
  const [, program, url, mode, pattern = ''] = process.argv
  if (!url || !modes.includes(mode)) {
    console.error(`usage: node ${program} URL ${modes.join('|')} [PATTERN]`)
    process.exit(2)
  }
  return { url, mode, pattern, token: process.env.ASSAY_TOKEN || undefined }
}

/**
 * Makes the calls whose names match pattern, and ends the process. Each call is given world; clear kills
 * what a call left running and returns what that was, and end, if there is one, ends what the calls shared. The summary names mode and the npm package client.
 */
export async function run({ calls, pattern, world, clear, end, mode, client }) {
  const wanted = calls.flatMap(Object.entries).filter(([name]) => new RegExp(pattern).test(name))
  // An unhandled rejection is a defect of a call or of the client: it fails the call that runs.
  const stray = []
  process.on('unhandledRejection', (error) => stray.push(`unhandled: ${text(error)}`))

  const began = performance.now()
  let failed = 0
  for (const [name, call] of wanted) {
    const verdict = await judge(call, world, clear)
    if (stray.length > 0) {
      verdict.ok = false
      verdict.error = [verdict.error, ...stray.splice(0)].filter(Boolean).join('; ')
    }
    if (!verdict.ok) failed++
    print({ name, ...verdict })
  }
  await end?.()
  const { version } = JSON.parse(readFileSync(new URL(`node_modules/${client}/package.json`, import.meta.url), 'utf8'))
  const ms = Math.round(performance.now() - began)
  print({ summary: { mode, client: `${client} ${version}`, node: process.version, calls: wanted.length, failed, ms } })
  // Connections of a pool would keep the process alive.
  process.stdout.write('', () => process.exit(failed > 0 ? 1 : 0))
}

const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`)

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
function text(error) {
  const message = `${error?.constructor?.name ?? 'error'}: ${error?.message ?? error}`
  const short = message.length > 1200 ? `${message.slice(0, 800)} … ${message.slice(-300)}` : message
  const at = /(?:calls|stdio)\/(?!tools|attach)\w+\.mjs:\d+/.exec(error?.stack ?? '')
  return at ? `${short} (${at[0]})` : short
}
