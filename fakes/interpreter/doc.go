// Package interpreter runs code for the clients of a gateway as E2B's code
// interpreter does: POST /execute answers with JSON lines, and /contexts holds
// the contexts in which code runs.
//
// The language is Starlark with what is common to it and Python: the names of
// Python's exceptions, the value of the last expression as result, and the
// modules time, sys, os, json and math by __import__. Code has no access to the
// host.
//
// It contains the routes, the contexts, the runs and their limits. It contains
// no authorization, no gateway and no fault.
package interpreter
