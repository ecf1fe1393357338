package load

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/target"
	"assay/scenarios"
)

// The default commands are portable sh. Every line of their output is checked.
const (
	// tickCommand prints one number a second and never ends: the driver kills it.
	tickCommand  = "i=0; while :; do echo $i; i=$((i+1)); sleep 1; done"
	tickInterval = time.Second
	// seqLines is how many numbers the other command prints, unless a plan sets it.
	seqLines = 20
)

// defaultWithin is the time over which kills and hang-ups are spread, and withinLines the
// time for a command that takes milliseconds.
const (
	defaultWithin = time.Second
	withinLines   = 10 * time.Millisecond
)

// killEach is added to Limits.KillAll for each stream, for a thousand kills per second, and
// killMost is the most that is added in all.
const (
	killEach = time.Millisecond
	killMost = 2 * time.Minute
)

// killTime is the time for the kills of a number of streams.
func killTime(streams int) time.Duration {
	return time.Duration(min(streams, int(killMost/killEach))) * killEach
}

// resolveClasses checks the classes and sets their defaults, and the HTTP version of all.
func (o *Options) resolveClasses() error {
	h2, usual := H2C, ProtocolConnect
	if target.IsSecureURL(o.Target.URL) {
		h2 = H2TLS
	}
	if target.IsSocketURL(o.Target.URL) {
		usual = ProtocolWS
	}
	if o.HTTP != "" && !slices.Contains([]string{HTTP11, H2C, H2TLS}, o.HTTP) {
		return fmt.Errorf("http %q: want %s, %s, %s", o.HTTP, HTTP11, H2C, H2TLS)
	}
	o.classes = slices.Clone(o.classes)
	for i := range o.classes {
		c := &o.classes[i]
		c.Protocol = cmp.Or(c.Protocol, usual)
		if err := resolveWire(c); err != nil {
			return err
		}
		if c.Protocol == ProtocolGRPC && o.HTTP == HTTP11 {
			return errors.New("protocol grpc needs HTTP/2: use http h2c (h2-tls for https), or protocol grpc-web, which runs on any")
		}
		if c.Protocol == ProtocolGRPC {
			o.HTTP = cmp.Or(o.HTTP, h2)
		}
		if strings.ContainsRune(c.Command, 0) {
			return errors.New("the command holds a NUL character")
		}
		if c.Command != "" {
			c.Expect = cmp.Or(c.Expect, "same")
		}
		if _, err := checkOf(c); err != nil {
			return err
		}
		c.Within = cmp.Or(c.Within, defaultWithin)
		if c.Lines > 0 && o.Plan == "" {
			c.Within = withinLines
		}
	}
	o.HTTP = cmp.Or(o.HTTP, HTTP11)
	if o.HTTP != HTTP11 && slices.ContainsFunc(o.classes, func(c scenarios.WorkloadClass) bool { return c.Protocol == ProtocolWS }) {
		return fmt.Errorf("protocol ws upgrades a connection of HTTP/1.1, which http %s does not have: use http 1.1, and no class with grpc", o.HTTP)
	}
	if o.FullHandshakes && h2 != H2TLS {
		return errors.New("full handshakes are those of TLS: give an https URL, or leave them out")
	}
	if o.HTTP != HTTP11 && o.HTTP != h2 {
		return fmt.Errorf("http %s does not fit the URL: its form of HTTP/2 is %s", o.HTTP, h2)
	}
	return nil
}

// resolveWire checks protocol and codec of a class and sets their defaults.
func resolveWire(c *scenarios.WorkloadClass) error {
	if c.Protocol == ProtocolNDJSON && c.Codec == CodecProto {
		return errors.New("protocol ndjson has no codec proto: leave the codec out")
	}
	if c.Protocol == ProtocolWS && c.Codec != "" {
		return errors.New("protocol ws has no codec, its output is raw: leave the codec out")
	}
	if c.Protocol == ProtocolGRPC || c.Protocol == ProtocolWeb {
		c.Codec = cmp.Or(c.Codec, CodecProto)
	}
	c.Codec = cmp.Or(c.Codec, CodecJSON)
	for _, v := range []struct {
		name, value string
		legal       []string
	}{
		{"protocol", c.Protocol, []string{ProtocolConnect, ProtocolGRPC, ProtocolWeb, ProtocolNDJSON, ProtocolWS}},
		{"codec", c.Codec, []string{CodecJSON, CodecProto}},
	} {
		if !slices.Contains(v.legal, v.value) {
			return fmt.Errorf("%s %q: want %s", v.name, v.value, strings.Join(v.legal, ", "))
		}
	}
	return nil
}

// checkOf returns the check of a class's output.
func checkOf(c *scenarios.WorkloadClass) (Check, error) {
	switch {
	case c.Command != "":
		return ParseExpect(c.Expect)
	case c.Lines > 0:
		return Check{Kind: CheckSequence, First: 1, Lines: uint64(c.Lines)}, nil //nolint:gosec // not negative
	default:
		return Check{Kind: CheckSequence}, nil
	}
}

// checkName returns the name of the check in reports.
func checkName(c *scenarios.WorkloadClass) string {
	if c.Command == "" {
		return "sequence"
	}
	return c.Expect
}

// commandOf returns the command that a class runs.
func commandOf(c *scenarios.WorkloadClass) string {
	switch {
	case c.Command != "":
		return c.Command
	case c.Lines > 0:
		return fmt.Sprintf("seq 1 %d", c.Lines)
	default:
		return tickCommand
	}
}

// ticks reports whether a class runs tickCommand.
func ticks(c *scenarios.WorkloadClass) bool { return c.Command == "" && c.Lines == 0 }

// names returns what thresholds may name.
func (o *Options) names() Names {
	n := Names{Sandboxes: o.Sandboxes != nil}
	if len(o.classes) > 1 {
		for i := range o.classes {
			n.Classes = append(n.Classes, o.classes[i].Name)
		}
	}
	return n
}

// class converts a resolved class of the options to a class of the plan. base holds the
// fields that all dialects share.
func (o *Options) class(c *scenarios.WorkloadClass, base Dialect) (Class, error) {
	check, err := checkOf(c)
	if err != nil {
		return Class{}, err
	}
	base.Protocol, base.Codec, base.Command, base.Stdin = c.Protocol, c.Codec, commandOf(c), c.Stdin != nil
	out := Class{
		Name: c.Name, Share: c.Share, Dialect: base, Check: check, Endless: c.Endless || ticks(c),
		Interval: c.Interval, Think: c.Think, Hold: c.Hold,
		KillShare: c.KillShare, DisconnectShare: c.DisconnectShare, Within: c.Within,
	}
	if ticks(c) {
		out.Interval = tickInterval
	}
	if c.Stdin != nil {
		out.Stdin = []byte(*c.Stdin)
	}
	silence := defaultSilence(out.Interval)
	switch {
	case c.Silence > 0:
		silence = c.Silence
	case c.Lines > 0:
		silence = firstEvent // a command of milliseconds
	}
	out.Silence = scaled(silence, scaleOf(o.Target.TimeScale))
	return out, nil
}

// plan converts resolved options to a plan.
func (o *Options) plan(base Dialect) (*Plan, error) {
	p := &Plan{
		Addr: base.Target.Addr(), HTTP: o.HTTP, TLS: base.Target.Transport(o.HTTP).TLS,
		Schedule: o.Schedule, Limits: DefaultLimits(o.Target.TimeScale),
	}
	for i := range o.classes {
		c, err := o.class(&o.classes[i], base)
		if err != nil {
			return nil, err
		}
		p.Classes = append(p.Classes, c)
	}
	p.Limits.KillAll += killTime(p.Wanted())
	if p.TLS != nil {
		p.TLS = p.TLS.Clone()
		if !o.FullHandshakes {
			p.TLS.ClientSessionCache = tls.NewLRUClientSessionCache(1) // there is one server name
		}
		p.TLS.NextProtos = []string{"http/1.1"}
		if p.Multiplexed() {
			p.TLS.NextProtos = []string{"h2"}
		}
	}
	return p, nil
}
