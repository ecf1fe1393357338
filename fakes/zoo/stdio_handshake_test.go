package zoo

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/fakes/gateway"
	"assay/fakes/gatewaytest"
	"assay/internal/testkit"
)

// theKey is the answer to the key of attach.
const theKey = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

func TestFaultsInTheHandshakeShowInItsAnswer(t *testing.T) {
	t.Parallel()
	right := startGateway(t, Options{})
	for _, c := range []struct {
		fault   string
		headers []string
		query   []string
		want    string
		right   string
	}{
		{fault: "stdio-accept-wrong", want: "101 accept false connection Upgrade", right: "101 accept true connection Upgrade"},
		{fault: "stdio-connection-missing", want: "101 accept true connection ", right: "101 accept true connection Upgrade"},
		{fault: "stdio-extension-unasked", want: "101 accept true connection Upgrade extensions permessage-deflate", right: "101 accept true connection Upgrade"},
		{fault: "stdio-subprotocol-unasked", want: "101 accept true connection Upgrade protocol tty", right: "101 accept true connection Upgrade"},
		{fault: "stdio-extension-refused", headers: []string{"Sec-WebSocket-Extensions: x-unheard"}, want: "400", right: "101 accept true connection Upgrade"},
		{fault: "stdio-version-unchecked", headers: []string{"Sec-WebSocket-Version: 8"}, want: "101 accept true connection Upgrade", right: "426"},
		{fault: "stdio-key-unchecked", headers: []string{"Sec-WebSocket-Key: "}, want: "101 accept false connection Upgrade", right: "400"},
		{fault: "stdio-post-upgrades", headers: []string{"Method: POST"}, want: "101 accept true connection Upgrade", right: "405"},
		{fault: "stdio-connection-exact", headers: []string{"Connection: keep-alive, Upgrade"}, want: "400", right: "101 accept true connection Upgrade"},
		{fault: "stdio-origin-unchecked", headers: []string{"Origin: http://evil.example"}, want: "101 accept true connection Upgrade", right: "403"},
		{fault: "stdio-command-missing", query: []string{"arg", "x"}, want: "500", right: "400"},
	} {
		if c.query == nil {
			c.query = script("")
		}
		for name, g := range map[string]*gateway.Gateway{"right": right, c.fault: startGateway(t, Options{Faults: []string{c.fault}})} {
			res := attach(t, g, c.query, c.headers...).res
			got := strconv.Itoa(res.StatusCode)
			if res.StatusCode == http.StatusSwitchingProtocols {
				got = fmt.Sprintf("101 accept %v connection %s", res.Header.Get("Sec-WebSocket-Accept") == theKey, res.Header.Get("Connection"))
				got += strings.Join(append([]string{""}, res.Header["Sec-Websocket-Extensions"]...), " extensions ")
				got += strings.Join(append([]string{""}, res.Header["Sec-Websocket-Protocol"]...), " protocol ")
			}
			if want := map[bool]string{true: c.right, false: c.want}[name == "right"]; got != want {
				t.Errorf("%s on the gateway %s: %q, want %q", c.fault, name, got, want)
			}
		}
	}
}

func TestFaultsInAuthorizationAdmitAndRefuse(t *testing.T) {
	t.Parallel()
	const token = "secret"
	type answer struct{ none, wrong, query, bearer, header int }
	for fault, want := range map[string]answer{
		"":                          {401, 401, 101, 101, 101},
		"stdio-token-optional":      {101, 401, 101, 101, 101},
		"stdio-token-unchecked":     {401, 101, 101, 101, 101},
		"stdio-query-token-ignored": {401, 401, 401, 101, 101},
		"stdio-bearer-ignored":      {401, 401, 101, 401, 101},
	} {
		o := Options{Options: gateway.Options{Token: token}}
		if fault != "" {
			o.Faults = []string{fault}
		}
		g := startGateway(t, o)
		status := func(query []string, headers ...string) int {
			return attach(t, g, slices.Concat(script(""), query), headers...).res.StatusCode
		}
		got := answer{
			status(nil), status(nil, "Authorization: Bearer wrong"), status([]string{"token", token}),
			status(nil, "Authorization: Bearer "+token), status(nil, "X-Access-Token: "+token),
		}
		if got != want {
			t.Errorf("%q: %v, want %v", fault, got, want)
		}
	}
}

func TestFaultStdioGetRunsRunsTheCommandOfAPlainRequest(t *testing.T) {
	t.Parallel()
	for fault, started := range map[string]int{"stdio-get-runs": 1, "stdio-unlisted": 0} {
		g := startGateway(t, Options{Faults: []string{fault}})
		a := gatewaytest.RoundTrip(t, g, "GET", "/attach?cmd=true", nil)
		if a.Status != 200 || a.Header.Get("Upgrade") != "" {
			t.Errorf("%s: status %d", fault, a.Status)
		}
		want := fmt.Sprintf("\ncoppice_commands_finished_total{status=\"ok\"} %d\n", started)
		testkit.Eventually(t, func() error {
			if !strings.Contains(string(gatewaytest.RoundTrip(t, g, "GET", "/metrics", nil).Body), want) {
				return fmt.Errorf("%s: the metrics have no %q", fault, want)
			}
			return nil
		})
	}
}

func TestVariantsOfTheHandshakeShowInItsAnswer(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Variants: []string{"stdio-odd-head"}})
	res := attach(t, g, script("")).res
	if res.Header.Get("Upgrade") != "WebSocket" || res.Header.Get("Connection") != "keep-alive, upgrade" || res.Header.Get("Sec-WebSocket-Accept") != theKey {
		t.Errorf("%v", res.Header)
	}
	g = startGateway(t, Options{Variants: []string{"stdio-upgrade-required"}})
	if a := gatewaytest.RoundTrip(t, g, "GET", "/attach?cmd=true", nil); a.Status != 426 || a.Header.Get("Upgrade") != "websocket" {
		t.Errorf("status %d, %v", a.Status, a.Header)
	}
	g = startGateway(t, Options{Variants: []string{"stdio-unknown-refused"}})
	for program, want := range map[string]int{"no-such-program": 400, "/no/such/program": 400, "true": 101, "/bin/sh": 101} {
		if got := attach(t, g, []string{"cmd", program}).res.StatusCode; got != want {
			t.Errorf("%s: status %d, want %d", program, got, want)
		}
	}
}
