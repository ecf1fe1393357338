package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/internal/record/surface"
)

// checkStep checks one step: its references, and fields that exclude each other.
func (c *checker) checkStep(s *Step) {
	at := s.source()
	if len(c.nodes) > 0 && c.nodes["/steps"] == nil {
		at = ""
	}
	switch {
	case s.Send != nil:
		c.checkSend(at+"/send", s.Send)
	case s.Write != nil:
		c.refer(at+"/write/to", s.Write.To, "an exchange or connection", c.names, c.conns)
		c.checkSegments(at+"/write/of", s.Write.Of)
		c.checkSplit(at+"/write/split", s.Write.Split)
	case s.Await != nil:
		c.checkAwait(at+"/await", s.Await)
	case s.Close != nil:
		c.refer(at+"/close/on", s.Close.On, "an exchange or connection", c.names, c.conns)
		if s.Close.How == "cancel" && slices.Contains(c.conns, s.Close.On) {
			c.errorf(c.at(at+"/close/how"), "name the exchange", "cancel ends an exchange, and %q is a connection", s.Close.On)
		}
	case s.Read != nil:
		c.refer(at+"/read/on", s.Read.On, "an exchange or connection", c.names, c.conns)
		if (s.Read.Mode == "") == (s.Read.Rate == 0) {
			c.errorf(c.at(at+"/read"), "", "read takes either mode or rate")
		}
	case s.Start != nil:
		c.checkStart(at+"/start", s.Start)
	case s.Race != nil:
		c.checkRace(at+"/race", s.Race)
	case s.Signal != nil:
		if s.Signal.Name == "" && s.Signal.Via != surface.Commands {
			c.errorf(c.at(at+"/signal"), "add name: SIGKILL", "the signal has no name")
		}
	case s.Input != nil:
		c.checkBytes(at+"/input/data", s.Input.Data)
	}
	c.checkTarget(at, s)
	c.checkPoll(at, s)
	if in := s.In(); in != "" {
		call, _ := s.Call()
		c.refer(at+"/"+call.Kind+"/in", in, "an exchange", c.names)
	}
}

func (c *checker) checkSend(at string, s *Send) {
	if (s.RPC == "") == (s.Surface == "" && s.Path == "") {
		c.errorf(c.at(at), "for a path without an rpc, write surface: process and the path", "a send has either rpc, or surface and path")
	}
	bodies := 0
	for _, field := range []string{"message", "json", "body", "multipart"} {
		if _, ok := c.nodes[at+"/"+field]; ok {
			bodies++
		}
	}
	if bodies > 1 {
		c.errorf(c.at(at), "", "a send has at most one of message, json, body and multipart")
	}
	if s.Message != nil && s.RPC == "" {
		c.errorf(c.key(at+"/message"), "write json for a plain JSON body", "a message needs an rpc, which determines its type")
	}
	if s.Shape != "" && s.RPC == "" {
		c.errorf(c.key(at+"/shape"), "", "a shape needs an rpc")
	}
	if s.Surface == surface.Control && s.In != "" {
		c.errorf(c.key(at+"/in"), "", "a request to the control plane is in no sandbox")
	}
	if s.ContentLength != nil && (s.Framing == "chunked" || s.Framing == "none") {
		c.errorf(c.key(at+"/content-length"), "", "content-length does not go with framing %s", s.Framing)
	}
	c.refer(at+"/on", s.On, "an exchange or connection", c.names, c.conns)
	c.checkSegments(at+"/body", s.Body)
	if slices.ContainsFunc(s.Body, func(b Segment) bool { return b.Frame != nil || b.WS != nil }) {
		c.errorf(c.key(at+"/body"), "use frames in a write; a split cuts a body into several DATA frames", "a body cannot contain frames")
	}
	c.checkSplit(at+"/split", s.Split)
	c.checkQuery(at, s)
	if s.Multipart != nil {
		c.checkMultipart(at+"/multipart", s.Multipart)
	}
	c.checkVars(at+"/path", s.Path)
	c.checkVars(at+"/message", s.Message)
	c.checkVars(at+"/json", s.JSON)
	for name, value := range s.Headers {
		if value != nil {
			c.checkVars(at+"/headers/"+name, *value)
		}
	}
}

func (c *checker) checkSplit(at string, s *Split) {
	if s == nil {
		return
	}
	if s.EveryByte && len(s.At) > 0 {
		c.errorf(c.at(at), "", "a split has either every-byte or offsets")
	}
	if !slices.IsSorted(s.At) {
		c.errorf(c.at(at), "", "the offsets of a split must increase")
	}
}

func (c *checker) checkSegments(at string, list []Segment) {
	for i, s := range list {
		place := fmt.Sprintf("%s/%d", at, i)
		if _, ok := c.nodes[place]; !ok {
			place = at // a single segment
		}
		c.checkBytes(place, s.Bytes)
		c.checkVars(place+"/json", s.JSON)
		if s.Chunk != nil {
			c.checkSegments(place+"/chunk/of", s.Chunk.Of)
			if e := s.Chunk.Extension; e != "" && e[0] != ';' {
				c.errorf(c.at(place+"/chunk/extension"), "", "a chunk extension begins with a semicolon")
			}
		}
		if s.Envelope != nil {
			c.checkEnvelope(place+"/envelope", s.Envelope)
		}
		if s.Gzip != nil {
			c.checkSegments(place+"/gzip/of", s.Gzip.Of)
		}
		if s.Frame != nil {
			c.checkFrame(place+"/frame", s.Frame)
		}
		if s.WS != nil {
			c.checkWSFrame(place+"/ws", s.WS)
		}
	}
}

func (c *checker) checkEnvelope(at string, e *Envelope) {
	payloads := 0
	for _, field := range []string{"message", "json", "text", "hex"} {
		if _, ok := c.nodes[at+"/"+field]; ok {
			payloads++
		}
	}
	if payloads > 1 {
		c.errorf(c.at(at), "", "an envelope has at most one of message, json, text and hex")
	}
	c.checkVars(at+"/message", e.Message)
	c.checkVars(at+"/json", e.JSON)
}

func (c *checker) checkAwait(at string, a *Await) {
	c.refer(at+"/on", a.On, "an exchange or connection", c.names, c.conns)
	if set := a.Conditions(); len(set) != 1 {
		c.errorf(c.at(at), "one of "+strings.Join(awaitConditions, ", "), "an await has exactly one condition, not %d", len(set))
	}
	if !a.Idle.IsZero() && !a.Done {
		c.errorf(c.at(at+"/idle"), "idle limits the time without progress of a wait for done", "an idle needs done")
	}
	c.checkBody(at+"/message", a.Message)
	c.checkProves(at+"/proves", a.Proves)
}

// checkProves checks that a step proves a rule of its scenario.
func (c *checker) checkProves(at, rule string) {
	if rule != "" && !slices.Contains(c.s.Rules, rule) {
		c.errorf(c.at(at), didYouMean(rule, c.s.Rules), "the scenario does not list the rule %q", rule)
	}
}

func (c *checker) checkStart(at string, s *Start) {
	if (s.Sh == "") == (s.Cmd == "") {
		c.errorf(c.at(at), "", "a start has either sh or cmd")
	}
	if s.Sh != "" && len(s.Args) > 0 {
		c.errorf(c.key(at+"/args"), "", "args go with cmd, not with sh")
	}
	switch {
	case s.Via == surface.Commands && (s.Cmd != "" || len(s.Envs) > 0 || s.Cwd != nil || s.Stdin != nil || s.Tag != nil || s.PTY != nil):
		c.errorf(c.at(at), "", "over the commands surface a start has only sh and timeout-ms")
	case s.Via == surface.Stdio && (len(s.Envs) > 0 || s.Cwd != nil || s.Stdin != nil || s.Tag != nil || s.TimeoutMS != nil):
		c.errorf(c.at(at), "", "over stdio a start has neither envs, cwd, stdin, tag nor timeout-ms")
	case s.Via != surface.Stdio && len(s.Query) > 0:
		c.errorf(c.key(at+"/query"), "add via: stdio", "only a start over stdio has a query")
	case s.Via != surface.Stdio && (s.Method != "" || s.HTTP != ""):
		c.errorf(c.at(at), "add via: stdio", "only a start over stdio has method or http")
	}
	for name, value := range s.Query {
		if value != nil {
			c.checkVars(at+"/query/"+name, *value)
		}
	}
	if s.Tag != nil {
		c.checkVars(at+"/tag", *s.Tag)
	}
	c.refer(at+"/on", s.On, "an exchange or connection", c.names, c.conns)
	c.checkProves(at+"/proves", s.Proves)
}

func (c *checker) checkRace(at string, r *Race) {
	if r.A.Race != nil || r.B.Race != nil {
		c.errorf(c.at(at), "", "a race cannot contain a race")
	}
	if name, _, ok := strings.Cut(r.At, "."); ok {
		c.refer(at+"/at", name, "an exchange", c.names)
	}
	if r.Offset == "" || strings.HasPrefix(r.Offset, "$") {
		return
	}
	if _, err := ParseSpan(r.Offset); err != nil {
		c.errorf(c.at(at+"/offset"), "", "%v", err)
	}
}

// checkTarget checks the process that the request of a step names.
func (c *checker) checkTarget(at string, s *Step) {
	if kind, t := s.Socket(); t != nil {
		c.checkSocket(at+"/"+kind, t)
		return
	}
	call, _ := s.Call()
	t := call.Target
	if t == nil {
		return
	}
	at += "/" + call.Kind
	named := 0
	for _, set := range []bool{t.To != "", t.PID != nil, t.Tag != nil} {
		if set {
			named++
		}
	}
	if named > 1 {
		c.errorf(c.at(at), "", "%s must name its process by exactly one of to, pid and tag", call.Kind)
	}
	c.refer(at+"/to", t.To, "a process", c.procs)
	if t.Tag != nil {
		c.checkVars(at+"/tag", *t.Tag)
	}
}

// checkSocket checks a step that sends a message on a WebSocket.
func (c *checker) checkSocket(at string, t *Target) {
	if t.To == "" || t.PID != nil || t.Tag != nil || t.As != "" {
		c.errorf(c.at(at), "name the start with to", "a message over stdio names its WebSocket by to, and has no response to name")
		return
	}
	c.refer(at+"/to", t.To, "an exchange", c.names)
}

// checkVars checks that a run defines every ${name} in the strings of v.
func (c *checker) checkVars(at string, v any) {
	known := []string{"run", "iteration", "dir", "name"}
	if strings.Contains(at, "/headers") || strings.Contains(at, "/query") {
		known = append(known, "token") // nowhere else, because bundles store the variables of messages
	}
	for _, p := range c.procs {
		known = append(known, p+".pid", p+".tag")
	}
	var unknown string
	var err error
	mapStrings(v, func(s string) any {
		_, bad := Expand(s, func(name string) (string, bool) {
			if !slices.Contains(known, name) && !c.captured(name) {
				unknown = cmp.Or(unknown, name)
				return "", false
			}
			return "", true
		})
		err = cmp.Or(err, bad)
		return s
	})
	if err == nil {
		return
	}
	hint := didYouMean(unknown, known)
	if hint == "" {
		hint = "known are " + strings.Join(known, ", ") + "; $${ stands for a literal ${"
	}
	c.errorf(c.at(at), hint, "%v", err)
}

// captured reports whether a variable is a value of the response of an exchange of the script:
// NAME.json.FIELD or NAME.header.FIELD.
func (c *checker) captured(variable string) bool {
	name, _, field, ok := Capture(variable)
	return ok && field != "" && slices.Contains(c.names, name)
}
