package kube

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// document is an object and the lines of the comment in front of it.
type document struct {
	comment []string
	object  any
}

// indent is the indentation of YAML by tradition.
const indent = 2

func write(w io.Writer, all []document) error {
	for i, d := range all {
		var text strings.Builder
		if i > 0 {
			text.WriteString("---\n")
		}
		for _, line := range d.comment {
			text.WriteString(strings.TrimRight("# "+line, " ") + "\n")
		}
		body, err := yaml.Dump(d.object, yaml.WithIndent(indent))
		if err != nil {
			return fmt.Errorf("writing the manifest: %w", err)
		}
		text.Write(body)
		if _, err := io.WriteString(w, text.String()); err != nil {
			return fmt.Errorf("writing the manifest: %w", err)
		}
	}
	return nil
}

// about is the comment of the whole manifest.
func (o *Options) about() []string {
	in := ""
	if o.Namespace != "" {
		in = " -n " + o.Namespace
	}
	objects := labelInstance + "=" + o.Run
	return []string{
		fmt.Sprintf("Run %s: %d workers, each with at most %d streams open at one time on %s.", o.Run, o.Workers, o.Size.Streams, connections(o.Size)),
		"",
		fmt.Sprintf("  kubectl%s logs -f job/%s", in, Name(o.Run, Coordinator)),
		fmt.Sprintf("  kubectl%s get jobs,pods -l %s", in, objects),
		fmt.Sprintf("  kubectl%s delete jobs,configmaps,secrets -l %s", in, objects),
		"",
		fmt.Sprintf("A worker asks for %s of a core and %s of memory, computed from its streams. Kubernetes ends the Jobs after %v.", o.Size.cpu(), o.Size.memory(), time.Duration(seconds(o.Deadline))*time.Second),
		"It has no limit of the CPU: a container that is stopped at one makes the gateway look slow.",
	}
}

func connections(s Size) string {
	switch {
	case s.Connections == 0:
		return "shared connections"
	case s.WidePorts:
		return fmt.Sprintf("%d connections, which need a wider range of local ports", s.Connections)
	}
	return fmt.Sprintf("%d connections", s.Connections)
}

// aboutSecret is the comment of the Secret: how to fill what it lacks.
func (o *Options) aboutSecret() []string {
	var missing []string
	if _, ok := o.Secrets[TokenKey]; !ok {
		missing = append(missing, TokenKey+" (of the target; a gateway without tokens needs none)")
	}
	for _, key := range slices.Sorted(maps.Keys(o.Secrets)) {
		if o.Secrets[key] == nil {
			missing = append(missing, key+" (the pods wait for it)")
		}
	}
	if len(missing) == 0 {
		return []string{"The secrets of the run, in base64: do not commit this."}
	}
	return []string{
		"The secrets of the run. This does not have: " + strings.Join(missing, ", ") + ".",
		"To fill it, add data: {KEY: VALUE in base64} here, or render with the flags --token-file and --bus-creds,",
		fmt.Sprintf("or create the Secret %s by other means and remove it here.", Name(o.Run, "")),
	}
}
