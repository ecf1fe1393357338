package portable_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// sends returns a script that sends a text, answers nothing and waits for the client.
func sends(text string) func(*loadtest.Socket) {
	return func(c *loadtest.Socket) { c.Send(text); c.Drain() }
}

// sendsAndGoes returns a script that sends a text and closes the connection when the client
// has answered the Close frame in it, if there is one.
func sendsAndGoes(text string) func(*loadtest.Socket) {
	return func(c *loadtest.Socket) {
		c.Send(text)
		if strings.Contains(text, "\x88") {
			_, _, _ = c.Next()
		}
	}
}

func TestEveryOutcomeOverWebSocket(t *testing.T) {
	lines := loadtest.Out("1\n2\n3\n")
	huge := string(wire.AppendWSHead(nil, wire.WSHead{FIN: true, Opcode: wire.WSBinary, Length: 1 << 63}))
	masked := string(wire.AppendWSClient(nil, wire.WSBinary, [4]byte{1, 2, 3, 4}, []byte("\x011\n2\n3\n")))
	tests := map[string]struct {
		serve   func(*loadtest.Socket)
		outcome bundle.StreamOutcome
		fate    load.Fate
		message string
	}{
		"a whole stream":                   {sendsAndGoes(loadtest.GoodFrames()), bundle.StreamOK, load.EndedOK, ""},
		"a gateway that awaits no answer":  {func(c *loadtest.Socket) { c.Send(loadtest.GoodFrames()) }, bundle.StreamOK, load.EndedOK, ""},
		"output lost":                      {sendsAndGoes(loadtest.Out("1\n2\n") + loadtest.Exit(0) + loadtest.CloseWS(1000)), bundle.StreamCorrupt, load.EndedOK, "2 of 3 lines came"},
		"output after exit":                {sendsAndGoes(lines + loadtest.Exit(0) + loadtest.Out("4\n") + loadtest.CloseWS(1000)), bundle.StreamCorrupt, load.EndedOK, "after the exit message"},
		"exit twice":                       {sendsAndGoes(lines + loadtest.Exit(0) + loadtest.Exit(0) + loadtest.CloseWS(1000)), bundle.StreamCorrupt, load.EndedOK, "second exit"},
		"a frame of 2^63 bytes":            {sends(lines + huge), bundle.StreamCorrupt, load.LeftOpen, "ws.length-high-bit"},
		"masked frames":                    {sendsAndGoes(masked + loadtest.Exit(0) + loadtest.CloseWS(1000)), bundle.StreamCorrupt, load.EndedOK, "ws.server-masked"},
		"gone inside a frame":              {sendsAndGoes(lines[:4]), bundle.StreamReset, load.LeftOpen, "during the response"},
		"gone without Close":               {sendsAndGoes(lines + loadtest.Exit(0)), bundle.StreamReset, load.EndedOK, "during the response"},
		"reset":                            {func(c *loadtest.Socket) { c.Send(lines); loadtest.Abort(c.Conn) }, bundle.StreamReset, load.LeftOpen, ""},
		"given up":                         {sendsAndGoes(lines + loadtest.CloseWS(1011)), bundle.StreamServerError, load.LeftOpen, "Close 1011"},
		"silence":                          {sends(lines), bundle.StreamStall, load.LeftOpen, "no output for"},
		"no Close after exit":              {sends(lines + loadtest.Exit(0)), bundle.StreamStall, load.EndedOK, "no Close frame"},
		"open after Close":                 {sends(loadtest.GoodFrames()), bundle.StreamStall, load.EndedOK, "still open"},
		"pings without end, and no output": {pingsForEver(""), bundle.StreamStall, load.LeftOpen, "no output for"},
		"pings without end, and no pong read": {func(c *loadtest.Socket) {
			ping := strings.Repeat(loadtest.Frame(wire.WSPing, strings.Repeat("p", 125)), 50)
			for range time.Tick(time.Millisecond) { // 6 MB/s fill all buffers within Later
				if _, err := io.WriteString(c.Conn, ping); err != nil {
					return
				}
			}
		}, bundle.StreamStall, load.LeftOpen, "no output for"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, w loadtest.Way, e load.Engine) {
				t.Parallel()
				p := loadtest.Plan(t, loadtest.Attach(t, tt.serve, w), loadtest.OverWS, w.Plan)
				switch {
				case strings.Contains(tt.message, "no output"):
					p.Classes[0].Silence = loadtest.Later
				case tt.outcome == bundle.StreamStall:
					p.Limits.End = loadtest.Soon
				}
				c := loadtest.Drive(t.Context(), t, e, p)
				c.Want(t, map[bundle.StreamOutcome]int64{tt.outcome: 1})
				if c.Fates()[tt.fate] != 1 {
					t.Errorf("fates %v, want number %d", c.Fates(), tt.fate)
				}
				if m := c.Message(); !strings.Contains(m, tt.message) {
					t.Errorf("message %q, want %q in it", m, tt.message)
				}
			})
		})
	}
}

// pingsForEver returns a script that reads the pong to each of its pings, until the
// connection ends, and fails at another answer.
func pingsForEver(first string) func(*loadtest.Socket) {
	return func(c *loadtest.Socket) {
		c.Send(first)
		for range time.Tick(time.Millisecond) {
			c.Send(loadtest.Frame(wire.WSPing, "now"))
			if op, p, ok := c.Next(); !ok || op != wire.WSPong || string(p) != "now" {
				return
			}
		}
	}
}

func TestAnUpgradeThatFailsIsAnOutcome(t *testing.T) {
	answer := func(text string) func(net.Conn, *bufio.Reader, *http.Request) {
		return func(c net.Conn, in *bufio.Reader, _ *http.Request) {
			_, _ = io.WriteString(c, text)
			_, _ = io.Copy(io.Discard, in)
		}
	}
	for name, tt := range map[string]struct {
		serve   func(net.Conn, *bufio.Reader, *http.Request)
		outcome bundle.StreamOutcome
		message string
		refused bool
	}{
		"200":            {answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), bundle.StreamServerError, `HTTP 200 in response to the upgrade, want 101: "hello"`, true},
		"404":            {answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), bundle.StreamServerError, "HTTP 404", true},
		"a wrong accept": {answer(loadtest.Switch("other")), bundle.StreamCorrupt, "ws.upgrade-accept", false},
		"no byte":        {answer(""), bundle.StreamAcceptStall, "no byte came", false},
		"half a head":    {answer(loadtest.Switch("other")[:60]), bundle.StreamStall, "no complete response to the upgrade", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e load.Engine) {
				t.Parallel()
				p := loadtest.Plan(t, loadtest.Upgrade(t, tt.serve), loadtest.OverWS)
				if strings.HasSuffix(tt.outcome.String(), "stall") {
					p.Limits.FirstEvent = loadtest.Later
				}
				c := loadtest.Drive(t.Context(), t, e, p)
				c.Want(t, map[bundle.StreamOutcome]int64{tt.outcome: 1})
				if m := c.Message(); !strings.Contains(m, tt.message) || c.Results[0].Refused != tt.refused {
					t.Errorf("%+v, want %q", c.Results[0], tt.message)
				}
			})
		})
	}
}

// A good response makes its head known; the accept of the next one is checked all the same.
func TestTheSecondWrongAcceptIsFoundToo(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		var calls atomic.Int64
		addr := loadtest.Upgrade(t, func(c net.Conn, in *bufio.Reader, r *http.Request) {
			key := r.Header.Get("Sec-WebSocket-Key")
			if calls.Add(1) == 3 {
				key = "other"
			}
			_, _ = io.WriteString(c, loadtest.Switch(key)+loadtest.GoodFrames())
			_, _ = io.Copy(io.Discard, in)
		})
		p := loadtest.Plan(t, addr, loadtest.OverWS, func(p *load.Plan) { p.Count, p.Limits.End = 4, loadtest.Soon })
		c := loadtest.Drive(t.Context(), t, e, p)
		c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamStall: 3, bundle.StreamCorrupt: 1}) // nobody closes the connections
		if !strings.Contains(strings.Join(c.Messages(), " "), "ws.upgrade-accept") {
			t.Errorf("%q", c.Messages())
		}
	})
}

// tickWS serves endless processes that end by SIGKILL with a code, or when the connection ends.
func tickWS(code int) func(*loadtest.Socket) {
	return func(c *loadtest.Socket) {
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			for {
				_, p, ok := c.Next()
				if !ok || string(p) == `{"type":"signal","signal":"SIGKILL"}` {
					return
				}
			}
		}()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		text := "0\n1\n2\n3\n"
		for range 4 {
			c.Send(loadtest.Out(text[:2]))
			text = text[2:]
			<-tick.C
		}
		<-killed
		c.Send(loadtest.Exit(code) + loadtest.CloseWS(1000))
		_, _, _ = c.Next()
	}
}

func TestAWebSocketIsKilledOverItself(t *testing.T) {
	for name, tt := range map[string]struct {
		class   load.Class
		outcome bundle.StreamOutcome
		fate    load.Fate
	}{
		"at the end of the schedule": {load.Class{}, bundle.StreamKilled, load.FateKilled},
		"after a while":              {load.Class{KillShare: 1, Within: 30 * time.Millisecond}, bundle.StreamKilled, load.FateKilled},
		"by a hang-up":               {load.Class{DisconnectShare: 1, Within: 30 * time.Millisecond}, bundle.StreamCancelled, load.EndedHungUp},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e load.Engine) {
				p := loadtest.Plan(t, loadtest.Attach(t, tickWS(137)), loadtest.OverWS, loadtest.Endless, func(p *load.Plan) {
					p.Count, p.Streams = 3, 3
					tt.class.Share, tt.class.Dialect, tt.class.Check, tt.class.Endless = 1, p.Classes[0].Dialect, p.Classes[0].Check, true
					p.Classes = []load.Class{tt.class}
				})
				c := loadtest.Drive(t.Context(), t, e, p)
				c.Want(t, map[bundle.StreamOutcome]int64{tt.outcome: 3})
				if c.Fates()[tt.fate] != 3 {
					t.Errorf("fates %v, want number %d three times", c.Fates(), tt.fate)
				}
			})
		})
	}
}

// The gateway sees a hang-up as the end of the connection.
func TestAHangUpEndsTheWebSocket(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		ended := make(chan struct{}, 1)
		addr := loadtest.Attach(t, func(c *loadtest.Socket) {
			c.Drain()
			ended <- struct{}{}
		})
		c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, loadtest.OverWS, func(p *load.Plan) {
			p.Classes[0].DisconnectShare = 1
		}))
		c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamCancelled: 1})
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("the connection is still open")
		}
	})
}

// What a hang-up leaves running is found in the list, and killed.
func TestTheSweepFindsWhatAHangUpLeft(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		killed := make(chan string, 10)
		addr := loadtest.Listen(t, func(c net.Conn) {
			in := bufio.NewReader(c)
			for {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				body, _ := io.ReadAll(r.Body)
				switch {
				case strings.HasPrefix(r.URL.Path, "/attach"):
					_, _ = io.WriteString(c, loadtest.Switch(r.Header.Get("Sec-WebSocket-Key")))
					_, _ = io.Copy(io.Discard, in)
					return
				case strings.HasSuffix(r.URL.Path, "/List"):
					list := `{"processes":[{"pid":5,"config":{"cmd":"sh","args":["-c",": ASSAY_RUN=test/load; seq 1 3"]}},{"pid":6,"config":{"cmd":"sh","args":["-c","mine"]}}]}`
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(list))+"\r\n\r\n"+list)
				default:
					killed <- string(body)
					_, _ = io.WriteString(c, loadtest.KillOK)
				}
			}
		})
		p := loadtest.Plan(t, addr, loadtest.OverWS, func(p *load.Plan) {
			p.Classes[0].DisconnectShare = 1
		})
		c := loadtest.Drive(t.Context(), t, e, p)
		if c.Fates()[load.FateKilled] != 1 || c.Found != 0 || len(killed) != 1 {
			t.Fatalf("fates %v, %d of nobody, %d kills", c.Fates(), c.Found, len(killed))
		}
		if text := <-killed; !strings.Contains(text, `"pid":5`) {
			t.Errorf("killed %s", text)
		}
	})
}
