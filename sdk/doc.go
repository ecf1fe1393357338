// Package sdk tests against programs made of npm packages that others wrote, pinned exactly. What
// real programs would trip over, they trip over.
//
//   - The official JavaScript SDK of E2B (e2b) makes calls to the reference gateway.
//   - A client of stdio over WebSocket (made of ws) makes calls to the reference gateway.
//   - Servers of stdio over WebSocket are tested by `assay conform`: one (made of ws) that is right or has one mistake,
//     and one for Bun, with what is wrong with such a server.
//
// What lives here: the calls with what each must observe (calls/ and stdio/), the servers
// (server.mjs and bun.mjs), and the tests that install the packages, start the gateways, and report every
// call as a subtest. What may not: anything that the program needs; no package
// imports this one, and node is needed only to test.
package sdk
