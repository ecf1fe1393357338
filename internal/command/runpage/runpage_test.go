package runpage

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/testkit"
	"assay/reports/page"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var face = Face{
	Title: "A run", Kicker: "Assay, live", Facts: []string{"Open", "Failed"}, List: "Failures",
	Charts: []page.Chart{{ID: "open", Title: "Open streams", X: page.Axis{Label: "time", Unit: page.UnitCount}, Series: []page.Series{{Name: "open"}, {Name: "wanted"}}}},
}

// serving starts a server that ends with the test.
func serving(t *testing.T, clean func([]byte) []byte) *Server {
	t.Helper()
	s, err := Listen(t.Context(), "127.0.0.1:0", face, clean)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// reader reads the events of a server.
type reader struct {
	body *http.Response
	text *bufio.Reader
}

func follow(t *testing.T, s *Server) *reader {
	t.Helper()
	r, err := http.Get(s.URL() + "events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	return &reader{r, bufio.NewReader(r.Body)}
}

// next returns the next event; an error behind the last.
func (r *reader) next(t *testing.T) (message, error) {
	t.Helper()
	var m message
	line, err := r.text.ReadString('\n')
	if err != nil {
		return m, err
	}
	if _, err := r.text.ReadString('\n'); err != nil {
		return m, err
	}
	data, ok := strings.CutPrefix(line, "data: ")
	if !ok {
		t.Fatalf("no event: %q", line)
	}
	return m, json.Unmarshal([]byte(data), &m)
}

func TestAReaderGetsTheWholeThenTheChangesThenTheVerdict(t *testing.T) {
	s := serving(t, nil)
	s.Sentence("100 streams")
	s.Moment("open", 1, 70, math.NaN())
	s.Entry(Entry{Text: "first"})
	r := follow(t, s)
	m, err := r.next(t)
	if err != nil || !m.Whole || m.Sentence != "100 streams" || len(m.Moments["open"]) != 1 || len(m.Entries) != 1 {
		t.Fatalf("the first event is %+v, %v", m, err)
	}
	s.Facts("71", "1")
	s.Moment("open", 2, 71, 100)
	s.Entry(Entry{Text: "second"})
	s.End(Verdict{Word: "Pass"})
	s.End(Verdict{Word: "too late"})
	s.Close()
	var moments []moment
	var entries []Entry
	var last message
	for {
		m, err := r.next(t)
		if err != nil {
			break
		}
		moments, entries, last = append(moments, m.Moments["open"]...), append(entries, m.Entries...), m
	}
	if last.Verdict == nil || last.Verdict.Word != "Pass" {
		t.Errorf("the last event is %+v", last)
	}
	seen := map[float64]bool{}
	for _, m := range moments {
		seen[m[0]] = true
	}
	if !seen[2] || len(entries) == 0 || entries[len(entries)-1].Text != "second" {
		t.Errorf("the changes are %v and %v", moments, entries)
	}
}

func TestNothingIsServedToOtherNames(t *testing.T) {
	s := serving(t, nil)
	for host, want := range map[string]int{
		"127.0.0.1:1": 200, "localhost:9": 200, "[::1]:80": 200, "localhost": 200,
		"attacker.example": 421, "attacker.example:80": 421, "10.0.0.1": 421, "localhost.attacker.example": 421, "127.0.0.1.attacker.example": 421,
	} {
		for _, path := range []string{"", "events"} {
			q, err := http.NewRequest(http.MethodGet, s.URL()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			q.Host = host
			r, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if r.StatusCode != want {
				t.Errorf("Host %s, /%s: %d, want %d", host, path, r.StatusCode, want)
			}
		}
	}
}

func TestThePageForbidsEverythingElse(t *testing.T) {
	s := serving(t, nil)
	r, err := http.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "Content-Security-Policy": "frame-ancestors 'none'", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer",
	} {
		if got := r.Header.Get(name); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if policy := r.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %s", policy)
	}
	if r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("other origins may read the page")
	}
	post, err := http.Post(s.URL(), "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	post.Body.Close()
	if post.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", post.StatusCode)
	}
}

func TestOnlyThisMachineIsServed(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "localhost:8080", "[::1]:0", "127.1.2.3:1"} {
		if err := CheckAddress(addr); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
	for _, addr := range []string{"", ":8080", "0.0.0.0:0", "[::]:0", "8080", "10.0.0.1:80", "example.com:80", "127.0.0.1"} {
		if _, err := Listen(t.Context(), addr, face, nil); !errors.Is(err, ErrAddress) {
			t.Errorf("%q: %v", addr, err)
		}
	}
	s := serving(t, nil)
	if _, err := Listen(t.Context(), strings.Trim(s.URL()[len("http:"):], "/"), face, nil); err == nil || errors.Is(err, ErrAddress) {
		t.Errorf("a port in use: %v", err)
	}
}

func TestSecretsAreOverwritten(t *testing.T) {
	s := serving(t, func(p []byte) []byte { return []byte(strings.ReplaceAll(string(p), "s3cret", "***")) })
	s.Sentence("with s3cret")
	s.Entry(Entry{Text: "s3cret"})
	r, err := http.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text := new(strings.Builder)
	if _, err := bufio.NewReader(r.Body).WriteTo(text); err != nil {
		t.Fatal(err)
	}
	event, err := follow(t, s).text.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"page": text.String(), "event": event} {
		if strings.Contains(got, "s3cret") || !strings.Contains(got, "with ***") {
			t.Errorf("the %s does not hide the secret", name)
		}
	}
}

// The socket buffers hold some megabytes, the messages here many more.
func TestAReaderThatDoesNotReadIsDroppedAndNotWaitedFor(t *testing.T) {
	s := serving(t, nil)
	c, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	readers := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.all)
	}
	testkit.Eventually(t, func() error { // a server does not report its readers
		if readers() == 0 {
			return errors.New("no reader came")
		}
		return nil
	})
	for range 4 * inbox { // at most inbox of them fit when the reader stands still
		s.Entry(Entry{Text: strings.Repeat("x", 1<<20)})
		s.flush()
		if readers() == 0 {
			break
		}
	}
	if readers() != 0 {
		t.Error("the reader that does not read is not dropped")
	}
	done := make(chan struct{})
	go func() { s.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("Close waits for a reader that does not read")
	}
}

func TestNoMoreReadersThanFit(t *testing.T) {
	s := serving(t, nil)
	for range mostReaders {
		if s.join() == nil {
			t.Fatal("a reader is refused")
		}
		s.readers.Done()
	}
	if s.join() != nil {
		t.Error("one reader more than the limit")
	}
	s.Close()
	if s.join() != nil {
		t.Error("a reader behind the end")
	}
}

func TestMemoryIsBoundedAndNoPeakIsLost(t *testing.T) {
	s := newState()
	for i := range 10_000 {
		v := 10.0
		switch i {
		case 777:
			v = 99
		case 5_432:
			v = 1
		}
		s.moment("open", moment{float64(i), v, math.NaN()})
		s.entry(Entry{Text: strconv.Itoa(i)})
	}
	all := s.whole.Moments["open"]
	if len(all) > mostMoments || len(all) < mostMoments/2-1 {
		t.Errorf("%d moments are kept", len(all))
	}
	low, high := bounds(all, 1)
	if low != 1 || high != 99 {
		t.Errorf("the values are between %v and %v", low, high)
	}
	for i := 1; i < len(all); i++ {
		if all[i][0] <= all[i-1][0] {
			t.Fatalf("time goes back at %d: %v, %v", i, all[i-1], all[i])
		}
	}
	if n := len(s.whole.Entries); n > 2*mostEntries || s.whole.Entries[n-1].Text != "9999" {
		t.Errorf("%d entries are kept, the last is %+v", n, s.whole.Entries[n-1])
	}
	if m := s.take(); m == nil || !m.Whole {
		t.Error("readers are not told that the curves were reduced")
	}
	if m := s.take(); m != nil {
		t.Errorf("told twice: %+v", m)
	}
}

func TestANilServerShowsNothing(t *testing.T) {
	var s *Server
	s.Sentence("x")
	s.Facts("x")
	s.Moment("x", 1, 2)
	s.Entry(Entry{})
	s.End(Verdict{})
	s.Close()
}

func TestANumberThatIsNoneIsNull(t *testing.T) {
	text, err := json.Marshal(moment{1, math.NaN(), math.Inf(1), 2.5})
	if err != nil || string(text) != "[1,null,null,2.5]" {
		t.Errorf("%s, %v", text, err)
	}
}
