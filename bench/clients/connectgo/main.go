// Command connectgo drives Start with connect-go, the client library of the protocol.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"connectrpc.com/connect"

	"assay/bench/clients/drive"
	"assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

func main() { os.Exit(drive.Main(open)) }

func open(c drive.Config) (drive.Stream, error) {
	t, err := c.Transport()
	if err != nil {
		return nil, err
	}
	var options []connect.ClientOption
	switch {
	case c.Protocol == "grpc":
		options = append(options, connect.WithGRPC())
	case c.Protocol != "connect":
		return nil, fmt.Errorf("protocol %q: want connect or grpc", c.Protocol)
	}
	if c.Codec == "json" {
		options = append(options, connect.WithProtoJSON())
	}
	client := processconnect.NewProcessClient(&http.Client{Transport: t}, c.URL, options...)
	return func(ctx context.Context, on func()) error {
		s, err := client.Start(ctx, connect.NewRequest(&process.StartRequest{
			Process: &process.ProcessConfig{Cmd: "/bin/sh", Args: []string{"-c", "seq 1 20"}},
		}))
		if err != nil {
			return err
		}
		ended := false
		for s.Receive() {
			ended = s.Msg().GetEvent().GetEnd() != nil
			on()
		}
		if err := s.Err(); err != nil {
			return err
		}
		if !ended {
			return fmt.Errorf("the last event is not an end event")
		}
		return s.Close()
	}, nil
}
