package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

func TestAnySplitOfAConnectionGivesTheSameResponses(t *testing.T) {
	inputs := map[string]string{
		"chunked and trailers":       chunkedHead + "3;a=b\r\nabc\r\n000000000000000000010\r\n0123456789abcdef\r\n0\r\nT: u\r\n\r\n",
		"three on one connection":    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 204 No Content\r\n\r\n",
		"until close":                "HTTP/1.1 200 OK\r\n\r\nabc\r\ndef",
		"cut head":                   "HTTP/1.1 200 OK\r\nA: b\r\n",
		"cut after a 1xx":            "HTTP/1.1 103 Early Hints\r\n\r\n",
		"no HTTP at all":             "SSH-2.0-OpenSSH_9.2p1\r\n",
		"HTTP/2 in the status line":  "HTTP/2 200 OK\r\n\r\n",
		"status of two digits":       "HTTP/1.1 20 OK\r\n\r\n",
		"status of four digits":      "HTTP/1.1 2000 OK\r\n\r\n",
		"field without colon":        "HTTP/1.1 200 OK\r\nnonsense\r\n: x\r\nA: \x01\r\nContent-Length: 0\r\n\r\n",
		"a fold before any field":    "HTTP/1.1 200 OK\r\n fold\r\nContent-Length: 0\r\n\r\n",
		"white space around a size":  chunkedHead + " 1 \r\na\r\n0 ;x\r\n\r\n",
		"an empty chunk extension":   chunkedHead + "1;\r\na\r\n0\r\n\r\n",
		"bare newlines in chunks":    chunkedHead + "1\na\n0\n\n",
		"data longer than its size":  chunkedHead + "1\r\nab\r\n0\r\n\r\n",
		"an endless chunk extension": chunkedHead + "1;" + strings.Repeat("x", chunkLineLimit+1),
		"endless headers":            "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 200),
		"endless trailers":           chunkedHead + "0\r\n" + strings.Repeat("A: b\r\n", 200),
	}
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			assertSplitInvariant(t, []byte(input), func(chunks [][]byte) []string { return traceResponses(chunks, 500) })
		})
	}
}

func TestResponseViolations(t *testing.T) {
	tests := map[string]struct {
		input string
		kind  Kind
		off   int64
	}{
		"an empty line first":            {"\r\nHTTP/1.1 200 OK\r\n\r\n", HTTPStatusLine, 0},
		"lower case":                     {"http/1.1 200 ok\r\n\r\n", HTTPStatusLine, 0},
		"HTTP/1.2":                       {"HTTP/1.2 200 OK\r\n\r\n", HTTPStatusLine, 0},
		"status 099":                     {"HTTP/1.1 099 OK\r\n\r\n", HTTPStatusLine, 0},
		"a control character in reason":  {"HTTP/1.1 200 O\x00K\r\nContent-Length: 0\r\n\r\n", HTTPStatusLine, 0},
		"a carriage return in a value":   {"HTTP/1.1 200 OK\r\nA: b\rc\r\nContent-Length: 0\r\n\r\n", HTTPHeader, 17},
		"a name with a space":            {"HTTP/1.1 200 OK\r\nA b: c\r\nContent-Length: 0\r\n\r\n", HTTPHeader, 17},
		"an empty length":                {"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", HTTPFraming, 34},
		"a length of 2^63":               {"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n", HTTPFraming, 54},
		"a negative length":              {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", HTTPFraming, 37},
		"chunked not last":               {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", HTTPFraming, 51},
		"chunked twice":                  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", HTTPFraming, 54},
		"chunked in HTTP/1.0":            {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", HTTPFraming, 45},
		"a length in 1xx":                {"HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\nHTTP/1.1 204 x\r\n\r\n", HTTPFraming, 42},
		"an empty chunk size":            {chunkedHead + "\r\n", HTTPChunk, 47},
		"a negative chunk size":          {chunkedHead + "-1\r\n", HTTPChunk, 47},
		"a chunk size of 2^63":           {chunkedHead + "8000000000000000\r\n", HTTPChunk, 47},
		"a folded trailer":               {chunkedHead + "0\r\n a\r\n\r\n", HTTPHeader, 50},
		"the end inside a trailer":       {chunkedHead + "0\r\nA: b\r\n", HTTPTruncated, 56},
		"the end before the body":        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", HTTPTruncated, 38},
		"the end after a 1xx":            {"HTTP/1.1 100 Continue\r\n\r\n", HTTPTruncated, 25},
		"the end inside the status line": {"HTT", HTTPTruncated, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []Violation
			d := ResponseDecoder{OnViolation: func(v Violation) { got = append(got, v) }}
			d.Feed([]byte(tt.input))
			d.Close()
			if len(got) != 1 || got[0].Kind != tt.kind || got[0].Off != tt.off {
				t.Errorf("got %+v, want only %s at %d", got, tt.kind, tt.off)
			}
		})
	}
}

func TestLegalResponsesHaveNoViolations(t *testing.T) {
	for name, input := range map[string]string{
		"no reason":                   "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
		"no space after the colon":    "HTTP/1.1 200 OK\r\nContent-Length:0\r\n\r\n",
		"tabs around a value":         "HTTP/1.1 200 OK\r\nContent-Length:\t0\t\r\n\r\n",
		"obs-text in a value":         "HTTP/1.1 200 OK\r\nA: \xff\r\nContent-Length: 0\r\n\r\n",
		"names in any case":           "HTTP/1.1 200 OK\r\ntRANSFER-eNCODING: Chunked\r\n\r\n0\r\n\r\n",
		"a length with leading zeros": "HTTP/1.1 200 OK\r\nContent-Length: 002\r\n\r\nab",
		"1xx before the answer":       "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 x\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"upper case chunk size":       chunkedHead + "A\r\n0123456789\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			ends := 0
			d := ResponseDecoder{OnEnd: func([]Field) { ends++ }, OnViolation: func(v Violation) { t.Error(v) }}
			d.Feed([]byte(input))
			if !d.Idle() || ends != 1 {
				t.Errorf("idle %t after %d responses, want one", d.Idle(), ends)
			}
			d.Close()
			if d.Idle() {
				t.Error("a connection that has ended is idle")
			}
		})
	}
}

func TestTheMethodIsAskedForEveryHead(t *testing.T) {
	input := "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
	got := traceResponses([][]byte{[]byte(input)}, 0, "HEAD", "POST")
	if ends := strings.Count(strings.Join(got, "\n"), "\nend"); ends != 2 || !slices.Contains(got, `body "x"`) {
		t.Errorf("the response to HEAD has a body: %q", got)
	}
}

func TestAConnectionIsIdleOnlyBetweenResponses(t *testing.T) {
	var d ResponseDecoder
	for _, step := range []struct {
		feed string
		idle bool
	}{
		{"", true},
		{"HTTP/1.1 100 ", false},
		{"Continue\r\n\r\n", false},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", false},
		{"x", true},
		{chunkedHead + "0\r\n", false},
		{"\r\n", true},
		{"x", false},
	} {
		if d.Feed([]byte(step.feed)); d.Idle() != step.idle {
			t.Errorf("idle is %t after %q", d.Idle(), step.feed)
		}
	}
}

func TestEndlessHeadersAreNotKept(t *testing.T) {
	d := ResponseDecoder{HeadLimit: 1000}
	d.Feed([]byte("HTTP/1.1 200 OK\r\nA: "))
	chunk := bytes.Repeat([]byte{'x'}, 512)
	for range 10000 {
		d.Feed(chunk)
	}
	if !d.Lost() || cap(d.line) > 4096 {
		t.Errorf("lost %t with %d bytes kept, limit 1000", d.Lost(), cap(d.line))
	}
	if d.Skipped() != 20+10000*512-1000 {
		t.Errorf("%d bytes skipped", d.Skipped())
	}
}

func TestChunksAreDecodedWithoutAllocation(t *testing.T) {
	var n int
	d := ResponseDecoder{OnBody: func(p []byte) { n += len(p) }, OnViolation: func(v Violation) { t.Error(v) }}
	d.Feed([]byte(chunkedHead))
	chunk := []byte("10;a=b\r\n0123456789abcdef\r\n")
	tests := map[string]func(){
		"whole chunks":      func() { d.Feed(chunk) },
		"cut in the size":   func() { d.Feed(chunk[:1]); d.Feed(chunk[1:]) },
		"cut in the data":   func() { d.Feed(chunk[:12]); d.Feed(chunk[12:]) },
		"cut in every byte": func() { feedBytes(&d, chunk) },
	}
	for name, feed := range tests {
		t.Run(name, func(t *testing.T) {
			feed()
			before := n
			if allocs := testing.AllocsPerRun(100, feed); allocs != 0 {
				t.Errorf("%v allocations per chunk", allocs)
			}
			if n-before != 101*16 {
				t.Errorf("%d bytes of body, want %d", n-before, 101*16)
			}
		})
	}
}

// FuzzResponseDecoder compares the decoder with itself in other splits, and with
// net/http: without a violation, both must read the same response.
func FuzzResponseDecoder(f *testing.F) {
	f.Add([]byte(chunkedHead+"3\r\nabc\r\n0\r\nA: b\r\n\r\n"), uint16(50))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), uint16(3))
	f.Add([]byte("HTTP/1.1 100 x\r\n\r\nHTTP/1.0 404 Not Found\r\nA: b\r\n c\r\n\r\nok"), uint16(3))
	f.Fuzz(func(t *testing.T, input []byte, cut uint16) {
		const limit = 1 << 9
		want := traceResponses([][]byte{input}, limit)
		i := min(int(cut), len(input))
		for _, chunks := range [][][]byte{everyByte(input), {input[:i], input[i:]}} {
			if got := traceResponses(chunks, limit); !slices.Equal(got, want) {
				t.Fatalf("the split changes the result:\n got %q\nwant %q", got, want)
			}
		}
		clean := true
		var heads []Head
		var body []byte
		ends := 0
		d := ResponseDecoder{
			HeadLimit:   limit,
			OnHead:      func(h Head) { heads = append(heads, h) },
			OnBody:      func(p []byte) { body = append(body, p...) },
			OnEnd:       func([]Field) { ends++ },
			OnViolation: orderedWithin(t, len(input), &clean),
		}
		d.Feed(input)
		d.Close()
		if len(body) > len(input) {
			t.Fatalf("%d bytes of body from %d", len(body), len(input))
		}
		if clean && len(heads) == 1 && ends == 1 {
			compareWithNetHTTP(t, input, heads[0], body)
		}
	})
}

func compareWithNetHTTP(t *testing.T, input []byte, head Head, body []byte) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(input)), &http.Request{Method: http.MethodPost})
	if err != nil {
		t.Fatalf("net/http cannot read a response without a violation: %v", err)
	}
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("net/http cannot read the body: %v", err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != head.Status || !bytes.Equal(got, body) {
		t.Fatalf("net/http reads %d %q, we read %d %q", res.StatusCode, got, head.Status, body)
	}
}

func BenchmarkResponseDecoder(b *testing.B) {
	var p []byte
	const chunks = 64
	for range chunks {
		p = append(p, "69\r\n"...)
		p = AppendEnvelope(p, 0, bytes.Repeat([]byte{'x'}, 100))
		p = append(p, "\r\n"...)
	}
	b.Run("chunks", func(b *testing.B) {
		var d ResponseDecoder
		d.Feed([]byte(chunkedHead))
		b.ReportAllocs()
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			d.Feed(p)
		}
	})
	b.Run("heads", func(b *testing.B) {
		head := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Fri, 20 Nov 2026 23:00:00 GMT\r\nContent-Length: 2\r\n\r\n{}")
		var d ResponseDecoder
		b.ReportAllocs()
		b.SetBytes(int64(len(head)))
		for b.Loop() {
			d.Feed(head)
		}
	})
}
