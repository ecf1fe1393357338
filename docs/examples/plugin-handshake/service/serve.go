package service

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Main serves the host until ctx ends, and prints its URL when it listens.
func Main(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("plugin-host", flag.ContinueOnError)
	flags.SetOutput(out)
	listen := flags.String("listen", "127.0.0.1:8090", "address to listen on")
	names := slices.Sorted(maps.Keys(Bugs()))
	bug := flags.String("bug", "", "have a bug: "+strings.Join(names, ", "))
	team := flags.String("team", "", "require this value in the header Plugin-Team")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *bug != "" && !slices.Contains(names, *bug) {
		return fmt.Errorf("no bug %q: the bugs are %s", *bug, strings.Join(names, ", "))
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	s := NewServer(*bug, *team)
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if _, err := fmt.Fprintf(out, "http://%s\n", l.Addr()); err != nil {
		return err
	}
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// NewServer returns a server of New that counts the handshakes of each connection.
func NewServer(bug, team string) *http.Server {
	return &http.Server{
		Handler:           New(bug, team),
		ReadHeaderTimeout: time.Minute,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connections{}, new(atomic.Int64))
		},
	}
}

// again reports whether a request is not the first handshake of its connection.
func again(r *http.Request) bool {
	n, ok := r.Context().Value(connections{}).(*atomic.Int64)
	return ok && n.Add(1) > 1
}
