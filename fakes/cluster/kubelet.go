package cluster

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"assay/internal/kube"
)

// missingError is a part of a pod that nobody has applied yet.
type missingError struct{ what string }

// Error says what is missing.
func (e *missingError) Error() string { return e.what }

// build makes the volumes of a pod, and the command of its container.
func (c *Cluster) build(objects *Objects, p *pod, program []string) (*exec.Cmd, error) {
	container := &p.spec.Containers[0]
	home := filepath.Join(c.o.Dir, p.Name)
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	where := map[string]string{} // paths of the container, here
	for _, m := range container.VolumeMounts {
		i := slices.IndexFunc(p.spec.Volumes, func(v kube.Volume) bool { return v.Name == m.Name })
		dir := filepath.Join(home, m.Name)
		if err := mount(objects, &p.spec.Volumes[i], dir); err != nil {
			return nil, err
		}
		where[m.MountPath] = dir
	}
	env, err := c.environment(objects, p)
	if err != nil {
		return nil, err
	}
	words := slices.Concat(container.Command, container.Args)
	if len(container.Command) == 0 {
		words = slices.Concat(program, container.Args)
	}
	for i := range words {
		words[i] = moved(expand(words[i], env), where)
	}
	command := exec.Command(words[0], words[1:]...) //nolint:noctx // a pod ends by signals, after a grace period
	command.Dir = home
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		command.Env = append(command.Env, name+"="+moved(env[name], where))
	}
	return command, nil
}

// environment returns the variables of a container: its own, and those that Kubernetes adds.
func (c *Cluster) environment(objects *Objects, p *pod) (map[string]string, error) {
	env := map[string]string{"HOSTNAME": p.Name, "JOB_COMPLETION_INDEX": strconv.Itoa(p.Index), "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
	if links := p.spec.EnableServiceLinks; links == nil || *links {
		for _, s := range c.o.Services {
			env[strings.ToUpper(strings.ReplaceAll(s, "-", "_"))+"_SERVICE_HOST"] = "127.0.0.1"
		}
	}
	for _, v := range p.spec.Containers[0].Env {
		if v.ValueFrom == nil || v.ValueFrom.SecretKeyRef == nil {
			env[v.Name] = v.Value
			continue
		}
		ref := v.ValueFrom.SecretKeyRef
		value, ok := objects.Secrets[ref.Name][ref.Key]
		switch {
		case ok:
			env[v.Name] = string(value)
		case !ref.Optional:
			return nil, &missingError{fmt.Sprintf("couldn't find key %s in the Secret %q", ref.Key, ref.Name)}
		}
	}
	return env, nil
}

// reference is $(NAME) in an argument, or $$, which stands for $.
var reference = regexp.MustCompile(`\$\$|\$\([A-Za-z_][A-Za-z0-9_]*\)`)

// expand replaces references to variables; those that do not exist stay.
func expand(text string, env map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, ok := env[found[2:len(found)-1]]; ok {
			return value
		}
		return found
	})
}

// moved replaces paths of the container by those of this machine.
func moved(text string, where map[string]string) string {
	for from, to := range where {
		text = strings.ReplaceAll(text, from+"/", to+"/")
	}
	return text
}

// mount makes the folder of a volume. As in Kubernetes, each file is a link to ..data/FILE, and
// ..data a link to the folder with the files.
func mount(objects *Objects, v *kube.Volume, dir string) error {
	switch {
	case v.ConfigMap != nil:
		m, ok := objects.ConfigMaps[v.ConfigMap.Name]
		if !ok {
			return &missingError{fmt.Sprintf("the ConfigMap %q not found", v.ConfigMap.Name)}
		}
		files := map[string][]byte{}
		for name, text := range m.Data {
			files[name] = []byte(text)
		}
		return project(dir, files, 0o644)
	case v.Secret != nil:
		values, ok := objects.Secrets[v.Secret.SecretName]
		if !ok {
			return &missingError{fmt.Sprintf("the Secret %q not found", v.Secret.SecretName)}
		}
		files, err := selected(values, v.Secret)
		if err != nil {
			return err
		}
		return project(dir, files, os.FileMode(number(v.Secret.DefaultMode, 0o644))) //nolint:gosec // a mode
	default:
		return os.MkdirAll(dir, 0o755)
	}
}

// selected returns the files of a volume with a Secret.
func selected(values map[string][]byte, v *kube.SecretVolume) (map[string][]byte, error) {
	if v.Items == nil {
		return values, nil
	}
	files := map[string][]byte{}
	for _, item := range v.Items {
		value, ok := values[item.Key]
		if !ok {
			return nil, &missingError{fmt.Sprintf("the Secret %q references a key that it does not have: %s", v.SecretName, item.Key)}
		}
		files[item.Path] = value
	}
	return files, nil
}

func project(dir string, files map[string][]byte, mode os.FileMode) error {
	const data, first = "..data", "..first"
	if err := os.RemoveAll(dir); err != nil { // of an attempt that lacked something else
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, first), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(first, filepath.Join(dir, data)); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, first, name), text, mode); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join(data, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
