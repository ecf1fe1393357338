package controlplane

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"assay/fakes/strict"
)

// maxStamp is the largest time of a query, in whatever unit.
const maxStamp = 1 << 53

// maxLog limits the log of a sandbox.
const maxLog = 1000

// LogEntry is one event in the life of a sandbox.
type LogEntry struct {
	Timestamp time.Time         `json:"timestamp"`
	Level     string            `json:"level"`
	Message   string            `json:"message"`
	Fields    map[string]string `json:"fields"`
}

// note adds to the log. Called with mu held.
func (s *Sandbox) note(message string) {
	s.log = append(s.log, LogEntry{time.Now().UTC(), "info", message, map[string]string{"sandboxID": s.id}})
	s.log = s.log[max(0, len(s.log)-maxLog):]
}

// logs serves the log, oldest entries first.
func (p *Plane) logs(w http.ResponseWriter, r *http.Request) error {
	i, err := p.find(r)
	if err != nil {
		return err
	}
	v := r.URL.Query()
	start, err := number("start", v.Get("start"), 0, maxStamp, 0) // ms
	if err != nil {
		return err
	}
	limit, err := number("limit", v.Get("limit"), 0, maxLog, maxLog)
	if err != nil {
		return err
	}
	type line struct {
		Timestamp time.Time `json:"timestamp"`
		Line      string    `json:"line"`
	}
	lines := []line{}
	entries := []LogEntry{}
	for _, e := range i.Log {
		if e.Timestamp.UnixMilli() >= int64(start) && len(lines) < limit {
			lines, entries = append(lines, line{e.Timestamp, e.Message}), append(entries, e)
		}
	}
	strict.WriteJSON(w, http.StatusOK, map[string]any{"logs": lines, "logEntries": entries})
	return nil
}

// logsV2 serves the log in either direction from a cursor, a time in ms.
func (p *Plane) logsV2(w http.ResponseWriter, r *http.Request) error {
	i, err := p.find(r)
	if err != nil {
		return err
	}
	v := r.URL.Query()
	cursor, err := number("cursor", v.Get("cursor"), 0, maxStamp, -1)
	if err != nil {
		return err
	}
	limit, err := number("limit", v.Get("limit"), 0, maxLog, maxLog)
	if err != nil {
		return err
	}
	log, backward := slices.Clone(i.Log), v.Get("direction") == "backward"
	if backward {
		slices.Reverse(log)
	} else if d := v.Get("direction"); d != "" && d != "forward" {
		return failure(http.StatusBadRequest, "direction %q: want forward or backward", d)
	}
	entries := []LogEntry{}
	for _, e := range log {
		at := e.Timestamp.UnixMilli()
		reached := cursor < 0 || !backward && at >= int64(cursor) || backward && at <= int64(cursor)
		level := v.Get("level")
		if reached && len(entries) < limit && (level == "" || level == "debug" || level == e.Level) && strings.Contains(e.Message, v.Get("search")) {
			entries = append(entries, e)
		}
	}
	strict.WriteJSON(w, http.StatusOK, map[string]any{"logs": entries})
	return nil
}

// sample is what a sandbox uses. Processes in memory use no CPU and no disk worth
// measuring.
type sample struct {
	Timestamp     time.Time `json:"timestamp"`
	TimestampUnix int64     `json:"timestampUnix"`
	CPUCount      int       `json:"cpuCount"`
	CPUUsedPct    float64   `json:"cpuUsedPct"`
	MemUsed       int64     `json:"memUsed"`
	MemTotal      int64     `json:"memTotal"`
	MemCache      int64     `json:"memCache"`
	DiskUsed      int64     `json:"diskUsed"`
	DiskTotal     int64     `json:"diskTotal"`
}

func newSample() sample {
	now := time.Now().UTC()
	return sample{Timestamp: now, TimestampUnix: now.Unix(), CPUCount: cpuCount, MemTotal: memoryMB << 20, DiskTotal: diskMB << 20}
}

// metrics serves one sample of now, if the interval of the query includes it.
func (p *Plane) metrics(w http.ResponseWriter, r *http.Request) error {
	i, err := p.find(r)
	if err != nil {
		return err
	}
	v := r.URL.Query()
	start, err := number("start", v.Get("start"), 0, maxStamp, 0)
	if err != nil {
		return err
	}
	end, err := number("end", v.Get("end"), 0, maxStamp, maxStamp)
	if err != nil {
		return err
	}
	samples := []sample{}
	if s := newSample(); i.State == Running && s.TimestampUnix >= int64(start) && s.TimestampUnix <= int64(end) {
		samples = append(samples, s)
	}
	strict.WriteJSON(w, http.StatusOK, samples)
	return nil
}

// metricsOfMany serves one sample of each running sandbox that the query names.
func (p *Plane) metricsOfMany(w http.ResponseWriter, r *http.Request) error {
	samples := map[string]sample{}
	for _, id := range strings.Split(r.URL.Query().Get("sandbox_ids"), ",") {
		if i, err := p.boxes.Find(id); err == nil && i.State == Running {
			samples[id] = newSample()
		}
	}
	strict.WriteJSON(w, http.StatusOK, map[string]any{"sandboxes": samples})
	return nil
}
