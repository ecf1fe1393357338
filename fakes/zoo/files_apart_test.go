package zoo

import (
	"strings"
	"testing"

	"assay/fakes/gateway"
	"assay/fakes/gatewaytest"
)

// sh runs a command line and returns the lines of the alias.
func (c filesClient) sh(script string) string {
	c.t.Helper()
	a := gatewaytest.RoundTrip(c.t, c.g, "POST", "/commands", []byte(`{"cmd":"`+script+`"}`), gatewaytest.UnaryJSON, "X-Access-Token: "+fileToken)
	return string(a.Body)
}

// TestCommandsAndCallsSeeDifferentFiles looks at one file from both sides: good is what the
// reference shows at the end, and want what the fault shows.
func TestCommandsAndCallsSeeDifferentFiles(t *testing.T) {
	t.Parallel()
	watched := func(c filesClient) string {
		id := strings.TrimSuffix(strings.TrimPrefix(c.call("CreateWatcher", `{}`), `{"watcherId":"`), `"}`)
		c.sh("echo x >/root/byCommand")
		c.put("byCall", "x")
		return c.call("GetWatcherEvents", `{"watcherId":"`+id+`"}`)
	}
	for _, c := range []struct {
		fault      string
		see        func(c filesClient) string
		good, want string
	}{
		{"reads-cached", func(c filesClient) string { c.get("f"); c.sh("echo new >/root/f"); return c.get("f") }, "200 new", "200 old content"},
		{"reads-cached", func(c filesClient) string { c.get("f"); c.put("f", "mine"); return c.get("f") }, "200 mine", "200 mine"},
		{"uploads-written-back", func(c filesClient) string { c.put("n", "content"); return c.sh("cat /root/n") }, "content", "No such file"},
		{"uploads-written-back", func(c filesClient) string { c.put("n", "content"); c.get("f"); return c.sh("cat /root/n") }, "content", "content"},
		{"upload-replaces-link", func(c filesClient) string {
			c.sh("ln -s f /root/l")
			c.put("l", "new")
			return c.get("l") + " " + c.get("f")
		}, "200 new 200 new", "200 new 200 old content"},
		{"entry-mode-fixed", func(c filesClient) string { c.sh("chmod 640 /root/f"); return c.call("Stat", `{"path":"f"}`) }, `"mode":416`, `"mode":420`},
		{"link-target-relative", func(c filesClient) string { return c.call("Stat", `{"path":"link"}`) }, `"symlinkTarget":"/root/d"`, `"symlinkTarget":"d"`},
		{"entries-cached", func(c filesClient) string {
			c.call("Stat", `{"path":"f"}`)
			c.sh("rm /root/f")
			return c.call("Stat", `{"path":"f"}`)
		}, "not_found", `"name":"f"`},
		{"entries-cached", func(c filesClient) string {
			c.call("Stat", `{"path":"f"}`)
			c.call("Remove", `{"path":"f"}`)
			return c.call("Stat", `{"path":"f"}`)
		}, "not_found", "not_found"},
		{"watch-own-changes", watched, `"name":"byCommand"`, `{"events":[{"name":"byCall"`},
	} {
		t.Run(c.fault, func(t *testing.T) {
			for fault, want := range map[string]string{"": c.good, c.fault: c.want} {
				o := Options{Options: gateway.Options{Token: fileToken}}
				if fault != "" {
					o.Faults = []string{fault}
				}
				if got := c.see(newFilesClient(t, o)); !strings.Contains(got, want) {
					t.Errorf("%q: %q, want %q", fault, got, want)
				}
			}
		})
	}
}
