package ledger

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/wire"
)

const (
	sigTerm = 15
	sigKill = 9
)

// signalOf reads from a request which process it signals and how; ok is false
// for anything that is no readable signal.
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
	if x.Surface != "commands" || x.Request.Method != "POST" {
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

// startTag is the tag that a Start asked for, or "".
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

// defaultTimeoutMS is the deadline of the NDJSON alias when a request names none.
const defaultTimeoutMS = 60_000

// deadlineHit reports whether a process was ended by the deadline of its Start:
// the stream ended with deadline_exceeded, or the NDJSON alias ended with -1 where the
// request named a deadline, or after the default one. (A gateway whose clock is scaled
// fires a named deadline early, so its length is not held against it here.)
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
	for i := range x.Events {
		e := &x.Events[i]
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
