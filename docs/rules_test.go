package docs_test

import (
	"cmp"
	"fmt"
	"strings"
)

const rulesHead = `<!-- Generated from the catalogue by go test ./docs -update. -->

# The rules

A rule is one requirement. A broken *must* fails a run; a broken *should* or *may* is an advisory, unless a
[profile](profiles.md) raises the rule or ` + "`--strict`" + ` is given. %d rules, %d scenarios. Each rule has its source, the scenarios
that prove it, and the [faults](faults.md) that break it: gateways of the self-test, each broken in one way.
A *standing* rule is judged on every response to which it applies, whatever the scenario is about.
` + "`assay explain ID`" + ` prints the same for one rule.

| source | what it is |
|---|---|
| connect | the [Connect protocol](https://connectrpc.com/docs/protocol) |
| coppice | the NDJSON alias and the counters of coppice gateways |
| e2b | the [REST API of E2B](https://e2b.dev/docs), as its SDKs call it |
| envd | the [E2B sandbox daemon](https://github.com/e2b-dev/infra), its protocol files and its observed behaviour |
| grpc | [gRPC over HTTP/2](https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md) |
| grpc-web | [gRPC-Web](https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md) |
| http | HTTP and HTTP/2, by the RFC that the rule names |
| interpreter | code execution, as [execute.md](execute.md) describes it |
| stdio | stdio over WebSocket, as [stdio.md](stdio.md) describes it |
| websocket | RFC 6455 |

`

// rulesPage is docs/rules.md: the rules by area.
func rulesPage(c *catalogue) string {
	var b strings.Builder
	fmt.Fprintf(&b, rulesHead, len(c.Rules), len(c.Scenarios))
	count := map[string]int{}
	for _, r := range c.Rules {
		count[area(r.ID)]++
	}
	b.WriteString("| area | rules |\n|---|---|\n")
	last := ""
	for _, r := range c.Rules {
		if a := area(r.ID); a != last {
			last = a
			fmt.Fprintf(&b, "| [%s](#area-%s) | %d |\n", a, a, count[a])
		}
	}
	last = ""
	for _, r := range c.Rules {
		if a := area(r.ID); a != last {
			last = a
			fmt.Fprintf(&b, "\n## Area %s\n", a)
		}
		c.rule(&b, r)
	}
	return b.String()
}

func (c *catalogue) rule(b *strings.Builder, r rule) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", r.ID, special.Replace(r.Text))
	level := r.Level
	if raised := c.raised[r.ID]; len(raised) > 0 {
		level += " (" + strings.Join(raised, ", ") + ")"
	}
	if r.Standing {
		level += ", standing"
	}
	fmt.Fprintf(b, "- %s · %s", level, r.Source)
	if r.Section != "" {
		b.WriteString(", " + linked(r.Section))
	}
	b.WriteString("\n")
	var scripts []string
	for _, id := range r.Scenarios {
		scripts = append(scripts, fmt.Sprintf("[%s](../scenarios/%s)", id, c.files[id]))
	}
	if r.Untestable != "" {
		scripts = append(scripts, "none can: "+special.Replace(r.Untestable))
	}
	if len(scripts) > 0 || !r.Standing {
		fmt.Fprintf(b, "- scenarios: %s\n", cmp.Or(strings.Join(scripts, ", "), "none"))
	}
	if len(r.Faults) > 0 {
		fmt.Fprintf(b, "- faults: %s\n", links("faults.md", r.Faults))
	}
}
