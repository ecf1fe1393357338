package load

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"assay/scenarios"
)

// The default commands. Both are portable sh, and every line of both is checked.
const (
	// tickCommand prints one number a second and never ends: the driver kills it.
	tickCommand  = "i=0; while :; do echo $i; i=$((i+1)); sleep 1; done"
	tickInterval = time.Second
	// seqLines is how many numbers the other one prints, unless a plan says it.
	seqLines = 20
)

// defaultWithin is the time over which kills and hang-ups are spread, and
// withinLines that of a command of milliseconds.
const (
	defaultWithin = time.Second
	withinLines   = 10 * time.Millisecond
)

// windEach is how much longer the killing of everything may take for each stream, at
// a thousand kills a second, and windMost for all of them.
const (
	windEach = time.Millisecond
	windMost = 2 * time.Minute
)

// resolveClasses settles protocol and codec of every class, and the HTTP version of all.
func (o *Options) resolveClasses() error {
	secure := strings.HasPrefix(strings.ToLower(o.Target.URL), "https:")
	h2 := H2C
	if secure {
		h2 = H2TLS
	}
	if o.HTTP != "" && !slices.Contains([]string{HTTP11, H2C, H2TLS}, o.HTTP) {
		return fmt.Errorf("http %q: want %s, %s, %s", o.HTTP, HTTP11, H2C, H2TLS)
	}
	o.classes = slices.Clone(o.classes)
	for i := range o.classes {
		c := &o.classes[i]
		if err := resolveWire(c); err != nil {
			return err
		}
		if c.Protocol == ProtocolGRPC && o.HTTP == HTTP11 {
			return errors.New("protocol grpc needs HTTP/2: use http h2c (h2-tls for https), or protocol grpc-web, which runs on any")
		}
		if c.Protocol == ProtocolGRPC {
			prefer(&o.HTTP, h2)
		}
		if strings.ContainsRune(c.Command, 0) {
			return errors.New("the command holds a NUL character")
		}
		if c.Command != "" {
			prefer(&c.Expect, "same")
		}
		if _, err := checkOf(c); err != nil {
			return err
		}
		prefer(&c.Within, defaultWithin)
		if c.Lines > 0 && o.Plan == "" {
			c.Within = withinLines
		}
	}
	prefer(&o.HTTP, HTTP11)
	if o.HTTP != HTTP11 && o.HTTP != h2 {
		return fmt.Errorf("http %s does not go with the URL: HTTP/2 there is %s", o.HTTP, h2)
	}
	return nil
}

// resolveWire settles protocol and codec.
func resolveWire(c *scenarios.WorkloadClass) error {
	prefer(&c.Protocol, ProtocolConnect)
	if c.Protocol == ProtocolNDJSON && c.Codec == CodecProto {
		return errors.New("protocol ndjson has no codec proto: leave the codec out")
	}
	if c.Protocol == ProtocolGRPC || c.Protocol == ProtocolWeb {
		prefer(&c.Codec, CodecProto)
	}
	prefer(&c.Codec, CodecJSON)
	for _, v := range []struct {
		name, value string
		legal       []string
	}{
		{"protocol", c.Protocol, []string{ProtocolConnect, ProtocolGRPC, ProtocolWeb, ProtocolNDJSON}},
		{"codec", c.Codec, []string{CodecJSON, CodecProto}},
	} {
		if !slices.Contains(v.legal, v.value) {
			return fmt.Errorf("%s %q: want %s", v.name, v.value, strings.Join(v.legal, ", "))
		}
	}
	return nil
}

// checkOf is what the output of a class must be.
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

// checkName says in a word how output is checked.
func checkName(c *scenarios.WorkloadClass) string {
	if c.Command == "" {
		return "sequence"
	}
	return c.Expect
}

// commandOf is the command that a class runs.
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

// ticks reports whether a class runs the command that never ends.
func ticks(c *scenarios.WorkloadClass) bool { return c.Command == "" && c.Lines == 0 }

// classNames are the names of the classes where there are several, else nil.
func (o *Options) classNames() (names []string) {
	if len(o.classes) > 1 {
		for i := range o.classes {
			names = append(names, o.classes[i].Name)
		}
	}
	return names
}

// class is one of the options' classes, which are resolved, as the plan has it. base
// has what all dialects share.
func (o *Options) class(c *scenarios.WorkloadClass, base Dialect) (Class, error) {
	check, err := checkOf(c)
	if err != nil {
		return Class{}, err
	}
	scale := o.Target.TimeScale
	if scale <= 0 {
		scale = 1
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
	switch {
	case c.Silence > 0:
		out.Silence = time.Duration(float64(c.Silence) * scale)
	case c.Lines > 0:
		out.Silence = DefaultLimits(0, scale).FirstEvent // a command of milliseconds
	default:
		out.Silence = DefaultLimits(out.Interval, scale).Silence
	}
	return out, nil
}

// plan is the options, which are resolved, as a plan.
func (o *Options) plan(base Dialect) (*Plan, error) {
	p := &Plan{
		Addr: base.Target.Addr(), HTTP: o.HTTP, TLS: base.Target.Transport(o.HTTP).TLS,
		Streams: o.Streams, Rate: o.Rate, Stages: o.stages, Poisson: o.Poisson, Ramp: o.Ramp, Duration: o.Duration, Count: o.Count,
		Warmup: o.Warmup, Seed: o.Seed, Limits: DefaultLimits(0, o.Target.TimeScale),
	}
	for i := range o.classes {
		c, err := o.class(&o.classes[i], base)
		if err != nil {
			return nil, err
		}
		p.Classes = append(p.Classes, c)
	}
	p.Limits.Wind += min(time.Duration(p.Wanted())*windEach, windMost)
	first := &p.Classes[0]
	p.Dialect, p.Check, p.Endless, p.Limits.Silence = first.Dialect, first.Check, first.Endless, first.Silence
	if p.TLS != nil {
		p.TLS = p.TLS.Clone()
		p.TLS.NextProtos = []string{"http/1.1"}
		if p.Multiplexed() {
			p.TLS.NextProtos = []string{"h2"}
		}
		if p.TLS.ServerName == "" {
			p.TLS.ServerName, _, _ = net.SplitHostPort(p.Addr)
		}
	}
	return p, nil
}
