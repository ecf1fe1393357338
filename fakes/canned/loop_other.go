//go:build !linux

package canned

import "net"

func serve(net.Listener, served, chan<- error) (func(), error) { return nil, ErrSystem }
