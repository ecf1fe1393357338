package zoo

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// sinkConn collects the written bytes.
type sinkConn struct {
	net.Conn
	bytes.Buffer
}

func (s *sinkConn) Write(p []byte) (int, error) { return s.Buffer.Write(p) }
func (s *sinkConn) Read(p []byte) (int, error)  { return s.Buffer.Read(p) }

const threeAnswers = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc" +
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;ext=1\r\n!\r\n0\r\nX: y\r\n\r\n" +
	"HTTP/1.1 204 No Content\r\n\r\n" +
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"

func TestRechunkingKeepsTheAnswersHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, step := range []int{1, 2, 3, 7, len(threeAnswers)} {
		sink := &sinkConn{}
		c := reframe{perChunk: 1}.on(sink)
		for rest := threeAnswers; rest != ""; {
			n := min(step, len(rest))
			if _, err := c.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		text := sink.String()
		if strings.Count(text, "\r\n1\r\n") != len("hello!") {
			t.Errorf("step %d: not one chunk per byte: %q", step, text)
		}
		r := bufio.NewReader(strings.NewReader(text))
		for i, want := range []string{"abc", "hello!", "", ""} {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatalf("step %d, answer %d: %v", step, i, err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != want {
				t.Errorf("step %d, answer %d: %q, %v; want %q", step, i, body, err, want)
			}
		}
	}
}

func FuzzRechunkDoesNotDependOnTheSplit(f *testing.F) {
	f.Add([]byte(threeAnswers), 5)
	f.Fuzz(func(t *testing.T, p []byte, step int) {
		one, many := &sinkConn{}, &sinkConn{}
		if len(p) > 0 {
			_, _ = reframe{perChunk: 1}.on(one).Write(p)
		}
		c := reframe{perChunk: 1}.on(many)
		for rest := p; len(rest) > 0; {
			n := min(max(1, step), len(rest))
			_, _ = c.Write(rest[:n])
			rest = rest[n:]
		}
		if !bytes.Equal(one.Bytes(), many.Bytes()) {
			t.Fatalf("%q became %q, and in pieces of %d %q", p, one.Bytes(), step, many.Bytes())
		}
	})
}
