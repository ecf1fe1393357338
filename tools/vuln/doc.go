// Command vuln searches the program and its dependencies for known vulnerabilities.
//
// It is govulncheck with one difference: without the database of vulnerabilities, which not
// every network reaches, it says so and succeeds. It has its own go.mod, like the other tools.
package main
