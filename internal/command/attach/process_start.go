package attach

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"assay/internal/base/crash"
	"assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
	"assay/internal/target"
)

// form is a way to call process.Process.
type form struct {
	options []connect.ClientOption
	http    version
}

// forms are all ways, in the order in which they are tried: as the SDKs do, and those of gateways that
// refuse that with HTTP 415.
func forms() []form {
	return []form{
		{[]connect.ClientOption{connect.WithProtoJSON()}, anyHTTP},
		{nil, anyHTTP},
		{[]connect.ClientOption{connect.WithGRPCWeb()}, anyHTTP},
		{[]connect.ClientOption{connect.WithGRPC()}, onlyHTTP2},
	}
}

// isOtherForm reports whether a gateway refused the form of a request, and nothing ran.
func isOtherForm(err error) bool {
	return connect.CodeOf(err) == connect.CodeUnknown && !connect.IsWireError(err) && strings.Contains(err.Error(), "HTTP status 415")
}

// dialProcess starts the command at a target, or connects to the process of a session. pid, unless it
// is 0, is that of the process to come back to. A *miss says that there is no process.Process.
func (o *Options) dialProcess(ctx context.Context, t *target.Target, pid uint32, size Size) (link, error) {
	var first error
	for _, f := range forms() {
		l := o.newProcessLink(ctx, t, f)
		err := l.open(ctx, o, pid, size)
		if err == nil {
			crash.Go(func() { l.pulse.watch(l.ctx, l.cancel, l.alive.Load, func() {}) })
			return l, nil
		}
		l.cancel()
		l.idle()
		if !isOtherForm(err) {
			return nil, o.explainProcess(t, err)
		}
		if first == nil {
			first = err
		}
	}
	return nil, o.explainProcess(t, first)
}

func (o *Options) newProcessLink(ctx context.Context, t *target.Target, f form) *processLink {
	l := &processLink{
		pty: o.PTY, stays: o.Session != "", scale: o.scale(), pulse: &pulse{clock: o.Clock}, ended: make(chan struct{}),
	}
	l.pulse.beat()
	scheme := "http://"
	if t.Secure() {
		scheme = "https://"
	}
	base := scheme + t.Authority() + strings.TrimSuffix(t.Path("process", ""), "/")
	h := client(t, l.scale, f.http, func(c net.Conn) net.Conn { return beating{c, l.pulse} })
	l.idle = h.CloseIdleConnections
	l.client = processconnect.NewProcessClient(h, base,
		append(f.options, connect.WithReadMaxBytes(longestEvent), connect.WithAcceptCompression("gzip", nil, nil))...)
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

// open opens the stream and waits for its start event.
func (l *processLink) open(ctx context.Context, o *Options, pid uint32, size Size) error {
	bounded, done := context.WithTimeout(ctx, scaled(handshakeTimeout, l.scale))
	defer done()
	stop := context.AfterFunc(bounded, l.cancel)
	if pid == 0 && o.Session != "" {
		var err error
		if pid, err = l.find(bounded, o.Session); err != nil {
			return err
		}
	}
	var err error
	switch {
	case pid != 0:
		err = l.join(pid)
	case o.Command == "" || o.Role == RoleViewer:
		return &cut{reason: fmt.Sprintf("there is no session %q: no process has this tag", o.Session), final: true}
	default:
		err = l.start(o, size)
	}
	if err == nil {
		err = l.started()
	}
	if !stop() && err == nil {
		err = bounded.Err()
	}
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return &cut{reason: fmt.Sprintf("no start event within %v", scaled(handshakeTimeout, l.scale))}
	}
	return err
}

// find returns the pid of the process with a tag, 0 without one.
func (l *processLink) find(ctx context.Context, tag string) (uint32, error) {
	list, err := l.client.List(ctx, connect.NewRequest(&process.ListRequest{}))
	if err != nil {
		return 0, err
	}
	for _, p := range list.Msg.Processes {
		if p.Tag != nil && *p.Tag == tag {
			return p.Pid, nil
		}
	}
	return 0, nil
}

// join opens the stream of a running process.
func (l *processLink) join(pid uint32) error {
	r := connect.NewRequest(&process.ConnectRequest{Process: byPID(pid)})
	r.Header().Set(keepaliveHeader, keepaliveEvery)
	s, err := l.client.Connect(l.ctx, r)
	if err == nil {
		l.stream, l.next = s, func() *process.ProcessEvent { return s.Msg().GetEvent() }
	}
	return err
}

var keepaliveEvery = strconv.Itoa(int(pingEvery / time.Second))

// start starts the command.
func (l *processLink) start(o *Options, size Size) error {
	stdin := true
	m := &process.StartRequest{Process: &process.ProcessConfig{Cmd: o.Command, Args: o.Args, Envs: map[string]string{}}}
	maps.Copy(m.Process.Envs, o.Env)
	if o.Session != "" {
		m.Tag = &o.Session
	}
	if o.PTY {
		m.Pty = ptyOf(size)
	} else {
		m.Stdin = &stdin
	}
	r := connect.NewRequest(m)
	r.Header().Set(keepaliveHeader, keepaliveEvery)
	s, err := l.client.Start(l.ctx, r)
	if err == nil {
		l.stream, l.next = s, func() *process.ProcessEvent { return s.Msg().GetEvent() }
	}
	return err
}

func ptyOf(size Size) *process.PTY {
	if size.Cols <= 0 || size.Rows <= 0 {
		size = Size{80, 24}
	}
	return &process.PTY{Size: &process.PTY_Size{Cols: uint32(size.Cols), Rows: uint32(size.Rows)}} //nolint:gosec // above 0
}

func byPID(pid uint32) *process.ProcessSelector {
	return &process.ProcessSelector{Selector: &process.ProcessSelector_Pid{Pid: pid}}
}

// errNoStart is a stream that does not begin with its start event.
var errNoStart = errors.New("the stream does not begin with a start event")

// started reads the start event.
func (l *processLink) started() error {
	for l.stream.Receive() {
		switch e := l.next().GetEvent().(type) {
		case *process.ProcessEvent_Keepalive:
		case *process.ProcessEvent_Start:
			l.pid = e.Start.GetPid()
			return nil
		default:
			return errNoStart
		}
	}
	if err := l.stream.Err(); err != nil {
		return err
	}
	return errNoStart
}
