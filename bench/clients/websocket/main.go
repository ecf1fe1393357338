// Command websocket drives stdio over WebSocket with github.com/coder/websocket. It counts
// the messages and does not check their output.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/coder/websocket"

	"assay/bench/clients/drive"
)

func main() { os.Exit(drive.Main(open)) }

const command = "/attach?cmd=/bin/sh&arg=-c&arg=seq%201%2020"

func open(c drive.Config) (drive.Stream, error) {
	if c.H2 {
		return nil, errors.New("this client supports only HTTP/1.1")
	}
	url := "ws" + strings.TrimPrefix(c.URL, "http") + command
	options := &websocket.DialOptions{CompressionMode: websocket.CompressionDisabled, HTTPClient: &http.Client{Transport: &http.Transport{}}}
	return func(ctx context.Context, on func()) error {
		s, resp, err := websocket.Dial(ctx, url, options)
		if err != nil {
			return fmt.Errorf("attaching: %w", err)
		}
		if resp.Body != nil {
			defer resp.Body.Close()
		}
		defer func() { _ = s.CloseNow() }()
		return messages(ctx, s, on)
	}, nil
}

// messages reads messages up to the Close frame.
func messages(ctx context.Context, s *websocket.Conn, on func()) error {
	exit := false
	for {
		kind, p, err := s.Read(ctx)
		switch {
		case websocket.CloseStatus(err) == websocket.StatusNormalClosure && exit:
			return nil
		case err != nil:
			return fmt.Errorf("no exit and Close: %w", err)
		case kind == websocket.MessageText:
			exit = strings.Contains(string(p), `"exit"`)
		default:
			on()
		}
	}
}
