//go:build !linux

package canned

import "net"

func serve(net.Listener, *File, chan<- error) (func(), error) { return nil, ErrSystem }
