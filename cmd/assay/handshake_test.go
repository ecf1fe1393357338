package main

import (
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"

	"assay/docs/examples/plugin-handshake/service"
)

// cmdHandshake starts the plugin host of the example, which is no gateway, and puts its URL into a
// variable: handshake URL --bug all-plugins --team blue.
func cmdHandshake(ts *testscript.TestScript, _ bool, args []string) {
	given := map[string]string{}
	for i := 1; i+1 < len(args); i += 2 {
		given[args[i]] = args[i+1]
	}
	host := service.NewServer(given["--bug"], given["--team"])
	s := httptest.NewUnstartedServer(host.Handler)
	s.Config.ConnContext = host.ConnContext
	s.Start()
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}
