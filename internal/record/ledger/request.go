package ledger

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/wire"
)

const (
	sigTerm = 15
	sigKill = 9
)

// signalOf reads the process and the signal from a request; ok is false for any other or
// unreadable request.
func signalOf(x *bundle.Exchange) (pid uint32, tag string, sig int, ok bool) {
	if pid, ok := killPath(x); ok {
		return pid, "", sigKill, true
	}
	if x.RPC != call.ProcessSendSignal || !x.Request.Body.Whole() {
		return 0, "", 0, false
	}
	var m process.SendSignalRequest
	if call.Decode(x.Codec, x.Request.Body.Data, &m) != nil {
		return 0, "", 0, false
	}
	return m.GetProcess().GetPid(), m.GetProcess().GetTag(), int(m.GetSignal()), true
}

// killPath reads the pid of POST …/{pid}/kill.
func killPath(x *bundle.Exchange) (uint32, bool) {
	if x.Surface != surface.Commands || x.Request.Method != "POST" {
		return 0, false
	}
	path, _, _ := strings.Cut(x.Request.Path, "?")
	head, ok := strings.CutSuffix(path, "/kill")
	if !ok {
		return 0, false
	}
	pid, err := strconv.ParseUint(head[strings.LastIndexByte(head, '/')+1:], 10, 32)
	return uint32(pid), err == nil
}

// startTag returns the tag in a Start request, or "".
func startTag(x *bundle.Exchange) string {
	body := x.Request.Body.Data
	if x.RPC != call.ProcessStart || !x.Request.Body.Whole() || len(body) < wire.HeaderSize {
		return ""
	}
	if n := binary.BigEndian.Uint32(body[1:]); body[0] != 0 || uint64(n) != uint64(len(body)-wire.HeaderSize) {
		return ""
	}
	var m process.StartRequest
	if call.Decode(x.Codec, body[wire.HeaderSize:], &m) != nil {
		return ""
	}
	return m.GetTag()
}

// defaultTimeoutMS is the deadline of the NDJSON alias without timeout_ms.
const defaultTimeoutMS = 60_000

// deadlineHit reports whether the deadline of its Start ended a process: the stream ended
// with deadline_exceeded, or the NDJSON alias ended with -1 and the request had a deadline
// or the default one had passed. It ignores the length of a requested deadline, which fires
// early on a gateway with a scaled clock.
func deadlineHit(x *bundle.Exchange) bool {
	if x.RPC != "" {
		return x.Error != nil && x.Error.Code == "deadline_exceeded"
	}
	var req struct {
		TimeoutMS *int64 `json:"timeout_ms"`
	}
	if json.Unmarshal(x.Request.Body.Data, &req) != nil {
		return false
	}
	for e := range bundle.Each(x.Events) {
		switch {
		case e.Exit == nil:
		case req.TimeoutMS != nil:
			return e.Exit.Code == -1 && *req.TimeoutMS > 0
		default:
			return e.Exit.Code == -1 && (e.At.T-x.Invoked.T)/1e6 >= defaultTimeoutMS
		}
	}
	return false
}
