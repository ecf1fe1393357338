package bundle

import (
	"testing"
	"time"
)

func TestARefusalIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		kind   string
		code   string
		want   Refusal
	}{
		{200, "application/json", "", ""},
		{200, "text/html", "", ""},
		{404, "text/plain", "", ""},
		{404, "Text/HTML; charset=utf-8", "", RefusalFront},
		{429, "", "", RefusalLimit},
		{429, "application/json", "resource_exhausted", RefusalLimit},
		{200, "application/grpc", "unavailable", RefusalLimit},
		{200, "application/grpc", "internal", ""},
		{502, "", "", RefusalFront},
		{503, "", "", RefusalLimit},
		{503, "text/html", "", RefusalFront},
		{504, "application/json", "deadline_exceeded", ""}, // an RPC server's own
		{504, "", "", RefusalFront},
		{521, "text/plain", "", RefusalFront},
	} {
		x := Exchange{Response: &Response{Status: c.status, Headers: []Header{{"content-type", c.kind}}}}
		if c.code != "" {
			x.Error = &RPCError{Code: c.code}
		}
		if got := x.Refusal(); got != c.want {
			t.Errorf("%d %s %s: %q, want %q", c.status, c.kind, c.code, got, c.want)
		}
	}
	of := func(kind string) *Exchange {
		return &Exchange{Sandbox: "made", Response: &Response{Status: 502, Headers: []Header{{"content-type", kind}}}}
	}
	if json, page := of("application/json").Refusal(), of("text/html").Refusal(); json != "" || page != RefusalFront {
		t.Errorf("502 of a sandbox is %q as JSON, and %q as a page", json, page)
	}
	if got := (&Exchange{}).Refusal(); got != "" {
		t.Errorf("without a response: %q", got)
	}
}

func TestRetryAfterIsRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2015, 10, 21, 7, 28, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-3": 0, " 2 ": 2 * time.Second, "99999999999": (1 << 20) * time.Second, "9999999": (1 << 20) * time.Second,
		"Wed, 21 Oct 2015 07:28:30 GMT": 30 * time.Second, "Wed, 21 Oct 2015 07:27:00 GMT": 0,
	} {
		if got := (&Response{Headers: []Header{{"Retry-After", text}}}).RetryAfter(now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
