// Package certify decides what a certificate says, signs it, and checks it again.
//
// What lives here: the product file of a vendor, the requirements of each level as pure functions of the evidence,
// the folder of a certificate, the in-toto statement with its signature, and the layout of a submission. What may not:
// anything that tests a target, which the command does and hands in as evidence, and anything that draws.
package certify
