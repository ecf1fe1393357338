// Package surface is the one table of the parts of a gateway that have a path of their own: processes, files, stdio over
// WebSocket. The flags, the profiles, the probes, the engine and the judge read what differs between them here, so that
// a new one begins as a row. How a surface is spoken is not here: messages belong to wire, envd and the probes.
package surface

import "assay/internal/record/bundle"

// The ids, as in `surface: files` of a script and `--endpoint files=/PATH`.
const (
	Process  = "process" // all procedures, also those of files
	Commands = "commands"
	Metrics  = "metrics"
	Health   = "health"
	Stdio    = "stdio"
	Files    = "files"
	Execute  = "execute"
	Contexts = "contexts"
	Control  = "control"
)

// Surface is a part of a gateway with a path of its own.
type Surface struct {
	ID string
	// Path is the default path, below that of the base URL.
	Path string
	// Feature is what a target must have for a call of the surface to make sense.
	Feature string
	// Probe asks whether a target has the surface. It is the zero value where a probe takes more than one request.
	Probe Request
	// Messages names what the surface sends, in the singular.
	Messages string
	// Types are the content types of its responses, "" for none; nil is any but that of a page.
	Types []string
	// Lines is the shape of the response to a POST to the path itself; "" is plain, like every other response.
	Lines bundle.Shape
	// Body is the content type of a request body that a script spells out; "" declares none.
	Body string
	// Port is that of the surface in a sandbox of a control plane; "" is the one of the daemon.
	Port string
	// Keeps is set for a surface with a state on which later steps of a script depend.
	Keeps bool
}

// Request is a plain request: the path is below that of the surface.
type Request struct{ Method, Path, Query, Body string }

const (
	json            = "application/json"
	interpreterPort = "49999"
)

var table = []Surface{
	{ID: Process, Feature: "process.start"},
	{ID: Commands, Path: "/commands", Feature: "ndjson.commands", Messages: "stream of commands in NDJSON", Lines: bundle.ShapeNDJSON, Body: json},
	{ID: Metrics, Path: "/metrics", Feature: "metrics.prometheus", Probe: Request{Method: "GET"}, Messages: "Prometheus exposition",
		Types: []string{"", "text/plain", "application/openmetrics-text"}},
	{ID: Health, Path: "/health", Feature: "health", Probe: Request{Method: "GET"}, Messages: "success"},
	{ID: Stdio, Path: "/attach", Feature: "stdio.ws", Messages: "WebSocket"},
	// The path is the home directory, which every target has and none downloads.
	{ID: Files, Path: "/files", Feature: "files", Probe: Request{Method: "GET", Query: "path=."}, Messages: "error of the files surface",
		Body: "application/octet-stream", Keeps: true},
	{ID: Execute, Path: "/execute", Feature: "execute", Probe: Request{Method: "POST", Body: `{"code":""}`}, Messages: "stream of a code execution",
		Lines: bundle.ShapeExecute, Body: json, Port: interpreterPort, Keeps: true},
	{ID: Contexts, Path: "/contexts", Feature: "execute", Body: json, Port: interpreterPort, Keeps: true},
	{ID: Control, Feature: "control-plane", Probe: Request{Method: "GET", Path: "v2/sandboxes", Query: "limit=1"}, Messages: "list of sandboxes",
		Body: json, Keeps: true},
}

// Of returns the surface with an id; the zero value for another one, such as "", a bare path.
func Of(id string) Surface {
	for _, s := range table {
		if s.ID == id {
			return s
		}
	}
	return Surface{}
}

// IDs lists the ids of all surfaces.
func IDs() []string {
	ids := make([]string, len(table))
	for i, s := range table {
		ids[i] = s.ID
	}
	return ids
}

// Shape returns how to decode the response to a request: only a POST to the path itself has lines.
func (s Surface) Shape(method, rest string) bundle.Shape {
	if s.Lines != "" && method == "POST" && (rest == "" || rest == "/") {
		return s.Lines
	}
	return bundle.ShapePlain
}
