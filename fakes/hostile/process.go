package hostile

import (
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"assay/internal/envd/process"
)

// processModes speak the protocol correctly and lie about processes and counters.
func processModes() []Mode {
	mode := func(id string, scope Scope, respond func(*reply)) Mode {
		return Mode{ID: id, Layer: "process", Scope: scope, front: replying(respond)}
	}
	metrics := func(id string, write func(http.ResponseWriter, *call)) Mode {
		return Mode{ID: id, Layer: "metrics", Scope: Metrics, front: func(w http.ResponseWriter, r *call) bool {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			write(w, r)
			return true
		}}
	}
	return []Mode{
		mode("all-stall", Streams, func(p *reply) {
			p.message(p.started(7))
			p.hold()
		}),
		mode("all-stall-before-start", Streams, func(p *reply) {
			_ = http.NewResponseController(p.w).Flush()
			p.hold()
		}),
		mode("all-end-at-once", Streams, func(p *reply) {
			p.message(p.started(7))
			p.message(p.exited())
			p.end()
		}),
		mode("pids-zero", Streams, func(p *reply) {
			p.message(p.started(0))
			p.message(p.exited())
			p.end()
		}),
		mode("unary-hang", Unary, func(p *reply) { p.hold() }),
		mode("list-of-a-million", Unary, listMillion),
		{ID: "echo", Layer: "process", Scope: Everything, front: func(w http.ResponseWriter, r *call) bool {
			body, _ := io.ReadAll(r.Body)
			maps.Copy(w.Header(), r.Header)
			w.Header().Del("Content-Length")
			_, _ = w.Write(body)
			return true
		}},
		metrics("endless-metrics", func(w http.ResponseWriter, _ *call) {
			flood(w, strings.Repeat("coppice_commands_started_total 1\n", 1000))
		}),
		metrics("garbage-metrics", func(w http.ResponseWriter, _ *call) { send(w, "}{\x00\xff 1e999 NaN\n# TYPE\n"+escapes+" 7\n") }),
		metrics("metrics-line-100mb", func(w http.ResponseWriter, _ *call) {
			more := strings.Repeat("x", 1<<20)
			for i := 0; i < 100 && send(w, more); i++ {
			}
			send(w, " 1\n")
		}),
		metrics("silent-metrics", func(w http.ResponseWriter, r *call) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}),
		metrics("metrics-million-names", func(w http.ResponseWriter, _ *call) {
			for i := range 1_000_000 {
				if !send(w, "coppice_"+strconv.Itoa(i)+"{a=\""+strconv.Itoa(i)+"\"} 1\n") {
					return
				}
			}
		}),
	}
}

// listMillion says that a million processes run; other unary calls reach the gateway.
func listMillion(p *reply) {
	if !strings.HasSuffix(p.r.URL.Path, "/List") {
		p.r.next.ServeHTTP(p.w, p.r.Request)
		return
	}
	codec := 0
	if p.isJSON() {
		codec = 1
	}
	p.message(million()[codec])
	p.end()
}

// million is a list of a million processes, in proto and in JSON.
var million = sync.OnceValue(func() [2][]byte {
	all := &process.ListResponse{Processes: make([]*process.ProcessInfo, 1_000_000)}
	for i := range all.Processes {
		all.Processes[i] = &process.ProcessInfo{Pid: uint32(i + 1), Config: &process.ProcessConfig{Cmd: "/bin/true"}} //nolint:gosec // small
	}
	return [2][]byte{(&reply{kind: "proto"}).encode(all), (&reply{kind: "json"}).encode(all)}
})
