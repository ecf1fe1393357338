package engine

import (
	"context"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// removeFiles removes what the iteration may have left at ${dir} and, below the home directory,
// at ${name}.
func (it *iteration) removeFiles(ctx context.Context, out *bundle.Iteration) {
	if !it.named.Load() {
		return
	}
	ctx, cancel := it.in.aside(ctx, it.in.cleanupBound(), afterInterrupt/2)
	defer cancel()
	rec := it.in.target.NewRecorder(it.in.clock)
	in := it.in.plain()
	for _, variable := range []string{"dir", "name"} {
		path := it.dir()
		if variable == "name" {
			path = it.name()
		}
		if it.mentions(variable) {
			in.remove(ctx, rec, path)
		}
	}
	absorb(out, rec)
}

// mentions reports whether the script uses a variable.
func (it *iteration) mentions(variable string) bool {
	return strings.Contains(string(it.in.s.Text), "${"+variable+"}")
}

// remove removes a file tree by the filesystem service, or by a process.
func (in *instance) remove(ctx context.Context, rec *transport.Recorder, path string) {
	var m call.Message
	switch text, err := call.Marshal(map[string]string{"path": path}); {
	case err != nil:
		return
	case in.has("filesystem"):
		m = call.Text{RPC: call.FilesystemRemove, JSON: text}
	case in.has("process.start"):
		m = call.Start{Process: call.Config{Cmd: "rm", Args: []string{"-rf", "--", path}, Envs: map[string]string{call.Mark: in.render().Mark()}}}
	default:
		return
	}
	if req, err := in.render().RPC(in.form(), m); err == nil {
		in.direct(ctx, rec, bundle.OpCleanup, req)
	}
}
