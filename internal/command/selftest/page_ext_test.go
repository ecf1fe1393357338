package selftest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"assay/fakes/zoo"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/testkit"
	"assay/suites"
)

// A site that responds to every unknown path with one HTML page, with status 200: the page is not
// a procedure under another path, and does not hide a procedure that is found under one.
func TestAPageForUnknownPathsIsNoProcedure(t *testing.T) {
	for name, tc := range map[string]struct {
		faults []string
		want   bundle.Conclusion
	}{
		"paths are exact":            {nil, bundle.Pass},
		"paths ignore case":          {[]string{"path-any-case"}, bundle.Fail},
		"List itself does not exist": {nil, bundle.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := zoo.Start(t.Context(), zoo.Options{Faults: tc.faults})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = g.Close() })
			site := httptest.NewServer(withPage(t, g.URL(), name == "List itself does not exist"))
			t.Cleanup(site.Close)
			out, err := suites.Run(t.Context(), suites.Options{
				Target: target.Options{URL: site.URL, TimeScale: testkit.Slowdown}, Select: "connect.route.path", Seed: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bundle.Conclusion{}
			for _, v := range out.Verdicts {
				got[v.Rule] = v.Conclusion
			}
			if c := got["connect.route.case-sensitive"]; c != tc.want {
				t.Errorf("the rule is %s, want %s", c, tc.want)
			}
		})
	}
}

// withPage forwards to the server at base and replaces every 404 by a page. With noList it also
// replaces the response of List.
func withPage(t *testing.T, base string, noList bool) http.Handler {
	t.Helper()
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	const page = "<!doctype html>\n<title>Sandbox</title>\n"
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			scripted := strings.Contains(r.Request.UserAgent(), "connect.route.path")
			missing := noList && scripted && r.Request.URL.Path == "/process.Process/List"
			if r.StatusCode != http.StatusNotFound && !missing {
				return nil
			}
			_, err := io.Copy(io.Discard, r.Body)
			if err == nil {
				err = r.Body.Close()
			}
			r.StatusCode, r.Body, r.ContentLength = http.StatusOK, io.NopCloser(strings.NewReader(page)), int64(len(page))
			r.Header = http.Header{"Content-Type": {"text/html; charset=utf-8"}}
			return err
		},
	}
}
