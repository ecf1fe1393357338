// Package scenarios is the catalogue: the scripts that exercise a gateway, the
// rules that they prove, the profiles that set the levels of the rules, and the
// language of the scripts.
//
// The YAML is the source; catalogue.cbor is its parsed form, generated, which the program reads at its start.
//
// It contains the types of a script, its parser with the published JSON Schemas,
// the checks that need no gateway, and the selection of scenarios. The engine runs
// the steps, and the judge evaluates the expectations: this package opens no
// connection and reads no observation.
package scenarios
