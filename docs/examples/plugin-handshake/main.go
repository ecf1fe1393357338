// Command plugin-handshake serves the plugin host of the example, for the scenarios in this folder:
//
//	go run ./docs/examples/plugin-handshake --listen 127.0.0.1:8090 --bug all-plugins
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"assay/docs/examples/plugin-handshake/service"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := service.Main(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "plugin-host:", err)
		os.Exit(2)
	}
}
