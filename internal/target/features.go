package target

import (
	"slices"
	"strings"

	"assay/internal/record/bundle"
)

// The known features.
const (
	featStart       = "process.start"
	featConnect     = "process.connect"
	featList        = "process.list"
	featSignal      = "process.signal"
	featInput       = "process.input"
	featCloseStdin  = "process.close-stdin"
	featStreamInput = "process.stream-input"
	featUpdate      = "process.update"
	featTag         = "process.tag"
	featUser        = "process.user"
	featKeepalive   = "process.keepalive"
	featPTY         = "process.pty"
	featJSON        = "codec.json"
	featProto       = "codec.proto"
	featHTTP1       = "http.1"
	featH2C         = "http.h2c"
	featH2TLS       = "http.h2-tls"
	featConnectRPC  = "protocol.connect"
	featGRPC        = "protocol.grpc"
	featGRPCWeb     = "protocol.grpc-web"
	featGzip        = "compress.gzip"
	featGet         = "rpc.get"
	featProbe       = "rpc.probe"
	featCommands    = "ndjson.commands"
	featMetrics     = "metrics.prometheus"
	featOwnMetrics  = "metrics.process"
	featToken       = "auth.token"
	featHealth      = "health"
	featFilesystem  = "filesystem"
	featWatch       = "filesystem.watch"
	featFiles       = "files"
	featSigned      = "files.signed"
	featExecute     = "execute"
	featStdio       = "stdio.ws"
	featStdioEOF    = "stdio.eof"
	featStdioPTY    = "stdio.pty"
	featSession     = "stdio.session"
	featShared      = "stdio.shared"
	featPanes       = "stdio.panes"
	featControl     = "control-plane"
	featControlKey  = "control-plane.key"
)

// Features lists the ids of all known features, sorted.
func Features() []string {
	var ids []string
	for _, g := range probes() {
		ids = append(ids, g.features...)
	}
	slices.Sort(ids)
	return ids
}

// present, absent and unknown return a probe's result with a detail.
func present(detail string) bundle.Feature {
	return bundle.Feature{State: bundle.FeaturePresent, Detail: detail}
}

func absent(detail string) bundle.Feature {
	return bundle.Feature{State: bundle.FeatureAbsent, Detail: detail}
}

// lacks is the result of a call that shows that a feature is absent: the request, and what was said to it.
func lacks(s bundle.Exchange, said string) bundle.Feature {
	path, _, _ := strings.Cut(s.Request.Path, "?")
	return absent(s.Request.Method + " " + path + ": " + said)
}

func unknown(detail string) bundle.Feature {
	return bundle.Feature{State: bundle.FeatureUnknown, Detail: detail}
}

// hidden is the result for a feature that the target may have, but that the options make untestable.
func hidden(detail string) bundle.Feature {
	return bundle.Feature{State: bundle.FeatureAbsent, Detail: detail, Hidden: true}
}
