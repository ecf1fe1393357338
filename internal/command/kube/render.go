package kube

import (
	"bytes"
	_ "embed" // the manifest
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"

	"go.yaml.in/yaml/v4"
)

//go:embed manifest.yaml.tmpl
var manifest string

var objects = template.Must(template.New("manifest").Funcs(template.FuncMap{
	"field": field, "file": File, "name": Name, "seconds": seconds, "secretFile": SecretFile,
}).Parse(manifest))

// The components of a run.
const (
	Worker      = "worker"
	Coordinator = "coordinator"
)

const (
	// index is the variable with the index of a pod, which Kubernetes replaces in arguments.
	index = "$(JOB_COMPLETION_INDEX)"
	// coordinatorMemory is that of the coordinator, in bytes: it merges the histograms of all workers.
	coordinatorMemory = 512 << 20
)

// Write writes the objects of a run as YAML documents.
func Write(w io.Writer, o Options) error {
	if err := o.validate(); err != nil {
		return err
	}
	var text bytes.Buffer
	err := objects.Execute(&text, run{Options: &o})
	if err == nil {
		_, err = w.Write(text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	return nil
}

// Name returns the name of the ConfigMap and the Secret of a run, and of the Job of a component.
func Name(run, component string) string {
	return strings.TrimSuffix("assay-"+run+"-"+component, "-")
}

// field returns a field of an object as YAML, indented as a field at that depth.
func field(indent int, key string, value any) (string, error) {
	const step = 2
	for range indent / step {
		key, value = "above", map[string]any{key: value}
	}
	text, err := yaml.Dump(map[string]any{key: value}, yaml.WithIndent(step))
	lines := strings.SplitAfterN(string(text), "\n", indent/step+1)
	return strings.TrimSuffix(lines[len(lines)-1], "\n"), err
}

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// run is what the manifest says of a run, and of one of its components; "" is what they share.
type run struct {
	*Options
	Component string
}

// For returns what the manifest says of a component.
func (r run) For(component string) run { return run{r.Options, component} }

// Labels returns the labels of an object, and of the pods of a component.
func (r run) Labels() map[string]string {
	l := map[string]string{
		"app.kubernetes.io/name": "assay", "app.kubernetes.io/instance": r.Run, "app.kubernetes.io/version": versionLabel(r.Version), "app.kubernetes.io/managed-by": "assay",
	}
	if r.Component != "" {
		l["app.kubernetes.io/component"] = r.Component
	}
	return l
}

// versionLabel returns a version as a value of a label, which has no + and at most 63 characters.
func versionLabel(version string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '_'
	}, version)
	return strings.Trim(clean[:min(len(clean), 63)], "-_.")
}

// IsWorker reports whether the component is the workers.
func (r run) IsWorker() bool { return r.Component == Worker }

// Args returns the arguments of the program, in which Kubernetes replaces nothing but the index of a worker: it replaces
// $(NAME), and $$ by $.
func (r run) Args() []string {
	args, more := r.CoordinatorArgs, []string(nil)
	if r.IsWorker() {
		args, more = r.WorkerArgs, []string{r.ShardFlag, index}
	}
	var out []string
	for _, a := range args {
		out = append(out, strings.ReplaceAll(a, "$", "$$"))
	}
	return append(out, more...)
}

// Asks returns what the container of the component asks for.
func (r run) Asks() Size {
	if r.IsWorker() {
		return r.Size
	}
	return Size{MilliCPU: leastMilliCPU, Memory: coordinatorMemory}
}

// Connections says how many connections a worker has.
func (r run) Connections() string {
	switch s := r.Size; {
	case s.Connections == 0:
		return "shared connections"
	case s.WidePorts:
		return fmt.Sprintf("%d connections, which need a wider range of local ports", s.Connections)
	default:
		return fmt.Sprintf("%d connections", s.Connections)
	}
}

// Ends returns when Kubernetes ends the Jobs.
func (r run) Ends() time.Duration { return time.Duration(seconds(r.Deadline)) * time.Second }

// SecretData returns the values of the Secret, in base64.
func (r run) SecretData() map[string]string {
	data := map[string]string{}
	for key, value := range r.Secrets {
		if value != nil {
			data[key] = base64.StdEncoding.EncodeToString(value)
		}
	}
	return data
}

// SecretFiles returns the keys of the Secret that the containers see as files.
func (r run) SecretFiles() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.Secrets)), func(key string) bool { return key == TokenKey })
}

// MissingSecrets says what the Secret does not have; "" if it has all.
func (r run) MissingSecrets() string {
	var missing []string
	if _, ok := r.Secrets[TokenKey]; !ok {
		missing = append(missing, TokenKey+" (of the target; a gateway without tokens needs none)")
	}
	for _, key := range slices.Sorted(maps.Keys(r.Secrets)) {
		if r.Secrets[key] == nil {
			missing = append(missing, key+" (the pods wait for it)")
		}
	}
	return strings.Join(missing, ", ")
}
