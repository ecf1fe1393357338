package sdk_test

import (
	"testing"

	"assay/fakes/zoo"
)

// fewestExecutions is how many calls of the code interpreter a run over everything must at least make.
const fewestExecutions = 20

// What the official client of the code interpreter may expect, the gateway does.
func TestTheClientOfTheInterpreterAcceptsTheReferenceGateway(t *testing.T) {
	t.Parallel()
	ready(t)
	accepts(t, serve(t, zoo.Options{}), script{file: viaInterpreter, mode: "own"}, fewestExecutions)
}

// A gateway that is broken in one way fails just there.
func TestTheClientOfTheInterpreterNoticesABrokenGateway(t *testing.T) {
	t.Parallel()
	ready(t)
	for _, f := range []struct{ fault, call string }{
		{"execute-blank-lines", "the value of the last expression is the text"},
		{"execute-contexts-shared", "contexts are apart"},
		{"execute-env-stays", "envs are there for one run"},
		{"execute-error-as-500", "code that does not parse is an error of the code"},
		{"execute-output-limited", "a megabyte arrives whole"},
		{"execute-restart-idle", "a restart forgets the variables"},
		{"execute-streams-mixed", "stdout and stderr are kept apart"},
		{"execute-traceback-null", "an error has a name, a value and a traceback"},
		{"execute-unknown-context", "an unknown context is a NotFoundError for every call"},
	} {
		t.Run(f.fault, func(t *testing.T) {
			t.Parallel()
			notices(t, serve(t, faulty(f.fault)), viaInterpreter, "own", f.call)
		})
	}
}
