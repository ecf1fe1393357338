//go:build !linux

package canned

import "net"

func serve(net.Listener, *File, string, chan<- error) (func(), error) { return nil, ErrSystem }
