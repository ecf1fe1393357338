// Reads reports with the parsers of others, and prints what they found as JSON, by file name:
// node parse.mjs FILE…
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { calculateSummary, parse as parseCTRF } from 'ctrf'
import { parse as parseJUnit } from 'junit2json'

async function readJUnit(text) {
  const found = { cases: 0, failures: 0, errors: 0, skipped: 0, names: [] }
  const report = await parseJUnit(text)
  for (const suite of report.testsuite ?? []) {
    for (const c of suite.testcase ?? []) {
      found.cases++
      found.failures += (c.failure ?? []).length
      found.errors += (c.error ?? []).length
      found.skipped += (c.skipped ?? []).length
      found.names.push(c.name)
    }
  }
  found.said = report.tests
  return found
}

function readCTRF(text) {
  const { results } = parseCTRF(text, { validate: true })
  const { tests, passed, failed, skipped, other } = calculateSummary(results.tests)
  const said = results.summary
  if (tests !== said.tests || passed !== said.passed || failed !== said.failed || skipped !== said.skipped || other !== said.other) {
    throw new Error(`the summary has ${JSON.stringify(said)}, the tests ${JSON.stringify({ tests, passed, failed, skipped, other })}`)
  }
  return { cases: tests, failures: failed, errors: other, skipped, said: said.tests, names: results.tests.map((t) => t.name) }
}

const all = {}
for (const file of process.argv.slice(2)) {
  const text = readFileSync(file, 'utf8')
  try {
    all[basename(file)] = file.endsWith('.xml') ? await readJUnit(text) : readCTRF(text)
  } catch (e) {
    throw new Error(`${file}: ${e.message}`, { cause: e })
  }
}
console.log(JSON.stringify(all))
