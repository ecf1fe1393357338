package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"

	"assay/bench/clients/drive"
)

func TestMessagesAreCountedUpToTheClose(t *testing.T) {
	for name, tt := range map[string]struct {
		exit bool
		code websocket.StatusCode
		ok   bool
	}{
		"a whole stream": {true, websocket.StatusNormalClosure, true},
		"no exit":        {false, websocket.StatusNormalClosure, false},
		"another code":   {true, websocket.StatusTryAgainLater, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s, err := websocket.Accept(w, r, nil)
				if err != nil {
					return
				}
				ctx := context.WithoutCancel(r.Context())
				_ = s.Write(ctx, websocket.MessageBinary, []byte("\x011\n"))
				_ = s.Write(ctx, websocket.MessageBinary, []byte("\x012\n"))
				if tt.exit {
					_ = s.Write(ctx, websocket.MessageText, []byte(`{"type":"exit","code":0}`))
				}
				_ = s.Close(tt.code, "")
			}))
			defer g.Close()
			stream, err := open(drive.Config{URL: g.URL})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			if err := stream(t.Context(), func() { n++ }); n != 2 || (err == nil) != tt.ok {
				t.Errorf("%d messages, %v", n, err)
			}
		})
	}
}
