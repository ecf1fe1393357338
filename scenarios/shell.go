package scenarios

import (
	"maps"
	"slices"
)

// InShell returns a request message with another shell: in
// `process: {cmd: /bin/sh, args: [-c, COMMAND]}`, it replaces the words before the
// command by those of shell. Scripts write /bin/sh -c, which some gateways do not
// run. Any other message is returned unchanged; v is not modified.
func InShell(v any, shell []string) any {
	message, ok := v.(map[string]any)
	if !ok || len(shell) == 0 || slices.Equal(shell, []string{"/bin/sh", "-c"}) {
		return v
	}
	process, _ := message["process"].(map[string]any)
	args, _ := process["args"].([]any)
	if process["cmd"] != "/bin/sh" || len(args) < 2 || args[0] != "-c" {
		return v
	}
	words := make([]any, 0, len(shell)+len(args))
	for _, word := range shell[1:] {
		words = append(words, word)
	}
	out, inner := maps.Clone(message), maps.Clone(process)
	inner["cmd"], inner["args"] = shell[0], append(words, args[1:]...)
	out["process"] = inner
	return out
}
