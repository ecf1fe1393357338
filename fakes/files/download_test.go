package files_test

import (
	"compress/gzip"
	"io"
	"net/url"
	"strings"
	"testing"
)

func at(path string) string { return "/files?path=" + url.QueryEscape(path) }

func TestADownloadIsTheFile(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	var all strings.Builder
	for i := range 256 {
		all.WriteByte(byte(i))
	}
	g.put(home+"/bin", all.String())
	g.put(home+"/empty.txt", "")
	g.put(home+"/é \"x\".html", "<p>")
	a := g.do("GET", at("bin"), "")
	if a.StatusCode != 200 || a.body != all.String() || a.ContentLength != 256 || a.Header.Get("Accept-Ranges") != "bytes" || a.Header.Get("Last-Modified") == "" {
		t.Errorf("%d %v %q", a.StatusCode, a.Header, a.body)
	}
	if a.Header.Get("Vary") != "Accept-Encoding" || a.Header.Get("Content-Disposition") != "inline; filename=bin" || a.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%v", a.Header)
	}
	if a = g.do("GET", at("~/empty.txt"), ""); a.StatusCode != 200 || a.body != "" || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("an empty file: %d %v", a.StatusCode, a.Header)
	}
	a = g.do("GET", at("é \"x\".html"), "")
	if a.body != "<p>" || !strings.Contains(a.Header.Get("Content-Disposition"), "filename*=utf-8''%C3%A9") || a.Header.Get("Content-Security-Policy") != "sandbox" {
		t.Errorf("a page: %v", a.Header)
	}
}

func TestDownloadsAreRefusedWithTheStatusAndAMessage(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has(home+"/f", home+"/d/")
	for target, want := range map[string]int{
		at("missing"): 404, at("d"): 400, "/files": 400, at("~root/x"): 400, at("f/x"): 404, at("a\x00b"): 400, at(strings.Repeat("n", 256)): 400, at("/dev/null"): 400,
		at("f") + "&username=ghost": 401, at("f") + "&username=": 401, at("f") + "&path=x": 400, at("f") + "&signature_expiration=x": 400,
		"/files?path=%zz": 400, "/files?path=f;x": 400, at("f") + "&username=user": 200, at("/home/user/f"): 200, at("./f"): 200,
	} {
		a := g.do("GET", target, "")
		if a.StatusCode != want {
			t.Errorf("GET %s: %d %s, want %d", target[:min(len(target), 40)], a.StatusCode, a.body, want)
		}
		if want != 200 && a.message(t) == "" {
			t.Errorf("GET %s: no message", target)
		}
	}
	for _, method := range []string{"HEAD", "PUT", "DELETE", "PATCH"} {
		if a := g.do(method, at("f"), ""); a.StatusCode != 405 || a.Header.Get("Allow") != "GET, POST" {
			t.Errorf("%s: %d %v", method, a.StatusCode, a.Header)
		}
	}
}

func TestRangesAndConditionsAreAboutTheFileAsItIs(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.put(home+"/f", "0123456789")
	modified := g.do("GET", at("f"), "").Header.Get("Last-Modified")
	const gz = "Accept-Encoding: gzip"
	for _, c := range []struct {
		name    string
		headers []string
		status  int
		body    string
	}{
		{"one range", []string{"Range: bytes=2-4", gz}, 206, "234"},
		{"a suffix", []string{"Range: bytes=-2", gz}, 206, "89"},
		{"past the end", []string{"Range: bytes=20-", gz}, 416, ""},
		{"malformed", []string{"Range: bytes=x"}, 416, ""},
		{"not modified", []string{"If-Modified-Since: " + modified, gz}, 304, ""},
		{"any tag", []string{"If-None-Match: *", gz}, 304, ""},
		{"modified since", []string{"If-Unmodified-Since: Mon, 02 Jan 2006 15:04:05 GMT"}, 412, ""},
		{"a range of this version", []string{"Range: bytes=0-0", "If-Range: " + modified, gz}, 206, "0"},
		{"a range of another version", []string{"Range: bytes=0-0", `If-Range: "etag"`, gz}, 200, "0123456789"},
	} {
		a := g.do("GET", at("f"), "", c.headers...)
		if a.StatusCode != c.status || c.body != "" && a.body != c.body || a.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %q %v, want %d %q", c.name, a.StatusCode, a.body, a.Header, c.status, c.body)
		}
	}
	a := g.do("GET", at("f"), "", "Range: bytes=20-")
	if a.Header.Get("Content-Range") != "bytes */10" {
		t.Errorf("past the end: %v", a.Header)
	}
	if a = g.do("GET", at("f"), "", "Range: bytes=0-1,4-5"); a.StatusCode != 206 || !strings.HasPrefix(a.Header.Get("Content-Type"), "multipart/byteranges") {
		t.Errorf("two ranges: %d %v", a.StatusCode, a.Header)
	}
}

func TestGzipIsSentToWhoNamesIt(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.put(home+"/f.json", `{"a":1}`)
	for accept, want := range map[string]string{
		"gzip": "gzip", "gzip, deflate, br": "gzip", "GZIP;q=0.1": "gzip", "identity;q=0.5, gzip;q=0.5": "gzip", "gzip, *;q=0": "gzip",
		"": "", "*": "", "br": "", "gzip;q=0": "", "gzip;q=0.2, identity": "", "identity": "",
		"identity;q=0": "406", "*;q=0": "406", "br, *;q=0": "406", "gzip;q=0, identity;q=0": "406",
	} {
		a := g.do("GET", at("f.json"), "", "Accept-Encoding: "+accept)
		switch {
		case want == "406":
			if a.StatusCode != 406 || a.message(t) == "" {
				t.Errorf("%q: %d", accept, a.StatusCode)
			}
		case a.StatusCode != 200 || a.Header.Get("Content-Encoding") != want || a.Header.Get("Content-Type") != "application/json":
			t.Errorf("%q: %d %v", accept, a.StatusCode, a.Header)
		case want == "gzip" && (unpacked(t, a.body) != `{"a":1}` || a.Header.Get("Last-Modified") != "" || a.Header.Get("Accept-Ranges") != ""):
			t.Errorf("%q: %v", accept, a.Header)
		}
	}
}

func unpacked(t *testing.T, s string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
