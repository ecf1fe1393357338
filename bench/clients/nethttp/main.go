// Command nethttp drives Start with net/http and an envelope reader that does not
// decode the events.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"assay/bench/clients/drive"
	"assay/internal/wire"
)

func main() { os.Exit(drive.Main(open)) }

const message = `{"process":{"cmd":"/bin/sh","args":["-c","seq 1 20"]}}`

func open(c drive.Config) (drive.Stream, error) {
	if c.Protocol != "connect" || c.Codec != "json" {
		return nil, errors.New("this client supports only Connect with JSON")
	}
	t, err := c.Transport()
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: t}
	body := wire.AppendEnvelope(nil, 0, []byte(message))
	url := c.URL + "/process.Process/Start"
	return func(ctx context.Context, on func()) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/connect+json")
		req.Header.Set("Connect-Protocol-Version", "1")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("HTTP %d", resp.StatusCode)
		}
		return events(resp.Body, on)
	}, nil
}

// events reads envelopes up to the end of the stream.
func events(r io.Reader, on func()) error {
	in := bufio.NewReader(r)
	var head [wire.HeaderSize]byte
	for {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return fmt.Errorf("no end of stream: %w", err)
		}
		if _, err := in.Discard(int(binary.BigEndian.Uint32(head[1:]))); err != nil {
			return err
		}
		if head[0]&wire.FlagEndStream != 0 {
			_, err := io.Copy(io.Discard, in)
			return err
		}
		on()
	}
}
