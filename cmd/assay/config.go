package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"assay/internal/base/safefile"
)

// configName is the configuration file in the working directory, used without --config.
const configName = "assay.yaml"

// addConfig adds --config to c and every command below it. Flags that the command
// line does not set come from the environment (ASSAY_TIME_SCALE for --time-scale),
// then from the file. The file maps flag names to values, with an optional section
// per command; without --config, it sets only flags that are safe (safeFlags):
//
//	profile: e2b
//	conform:
//	  strict: true
//	  select: [area:process-input, '!axis:proto']
func addConfig(c *cobra.Command) {
	path := c.PersistentFlags().String("config", "", "file with flags (default: assay.yaml, if it exists, for flags that are safe there)")
	c.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if needsEnvironment(c) {
			if err := checkEnvironment(c.Root(), os.Environ()); err != nil {
				return usage(err)
			}
		}
		file, err := readConfig(c, *path)
		if err != nil {
			return usage(err)
		}
		if err := fill(c, file); err != nil {
			return usage(err)
		}
		return usage(checkValues(c))
	}
}

// checkValues rejects values that no flag can have: an empty one, with which the unset variable of a script
// (--key "$KEY") would silently switch off what the flag asks for, and a number that is none.
func checkValues(c *cobra.Command) error {
	var errs []error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		value := f.Value.String()
		list, many := f.Value.(pflag.SliceValue)
		switch {
		case f.Value.Type() == "string" && value == "", many && len(list.GetSlice()) == 0:
			errs = append(errs, fmt.Errorf("--%s is empty: give it a value or leave it out", f.Name))
		case f.Value.Type() == "float64" && strings.ContainsAny(value, "NI"): // NaN and Inf
			errs = append(errs, fmt.Errorf("--%s %s: want a number, for example 1.5", f.Name, value))
		}
	})
	return errors.Join(errs...)
}

// configFile is a parsed file: values by flag name.
type configFile struct {
	path   string
	named  bool // by --config or ASSAY_CONFIG
	values map[string]yaml.Node
}

// readConfig reads the file; only the default file may be absent.
func readConfig(c *cobra.Command, path string) (configFile, error) {
	if path == "" {
		path = os.Getenv("ASSAY_CONFIG")
	}
	named := path != ""
	if !named {
		path = configName
	}
	text, err := safefile.Read(path, safefile.Limit)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return configFile{}, nil
	}
	if err != nil {
		return configFile{}, fmt.Errorf("--config: %w", err)
	}
	file, err := parseConfig(c, path, text)
	file.named = named
	return file, err
}

// parseConfig reads the text of a file for a command.
func parseConfig(c *cobra.Command, path string, text []byte) (configFile, error) {
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		return configFile{}, nil
	}
	if err == nil {
		err = dec.Decode(&more)
	}
	var load *yaml.LoadError
	switch {
	case err == nil:
		return configFile{}, fmt.Errorf("--config: %s:%d: a second YAML document begins here; want one", path, more.Line)
	case errors.As(err, &load):
		line := min(max(1, load.Mark.Line), bytes.Count(text, []byte("\n"))+1) // it can be that after the last
		return configFile{}, fmt.Errorf("--config: %s:%d: not YAML: %s", path, line, load.Message)
	case !errors.Is(err, io.EOF):
		return configFile{}, fmt.Errorf("--config: %s: not YAML: %w", path, err)
	}
	all, err := mapping(doc.Content[0])
	if err != nil {
		return configFile{}, fmt.Errorf("--config: %s:%w", path, err)
	}
	return merge(c, path, all)
}

// mapping returns the values of a mapping by their keys. Errors begin with a line. The YAML
// package would compare each key with every other.
func mapping(n *yaml.Node) (map[string]yaml.Node, error) {
	if n.Kind != yaml.MappingNode && n.ShortTag() != "!!null" {
		return nil, fmt.Errorf("%d: want flags and their values", n.Line)
	}
	values := map[string]yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if _, twice := values[key.Value]; twice || key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("%d: want the name of a flag, once: %q", key.Line, key.Value)
		}
		values[key.Value] = *n.Content[i+1]
	}
	return values, nil
}

// merge overrides the common flags with the command's section, and rejects flags
// that no command has.
func merge(c *cobra.Command, path string, all map[string]yaml.Node) (configFile, error) {
	out := configFile{path: path, values: map[string]yaml.Node{}}
	own := map[string]yaml.Node{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		node := all[name]
		if sub := command(c.Root(), name); sub != nil {
			section, err := mapping(&node)
			if err != nil {
				return out, fmt.Errorf("--config: %s:%w", path, err)
			}
			for flag, v := range section {
				if sub.Flags().Lookup(flag) == nil {
					return out, fmt.Errorf("--config: %s:%d: %s has no flag --%s", path, v.Line, name, flag)
				}
			}
			if sub == c {
				own = section
			}
			continue
		}
		if having(c.Root(), name) == nil {
			return out, fmt.Errorf("--config: %s:%d: no command has a flag --%s", path, node.Line, name)
		}
		out.values[name] = node
	}
	maps.Copy(out.values, own)
	return out, nil
}

// having returns a command that has a flag, or nil.
func having(root *cobra.Command, flag string) *cobra.Command {
	all := root.Commands()
	if i := slices.IndexFunc(all, func(c *cobra.Command) bool { return c.Flags().Lookup(flag) != nil }); i >= 0 {
		return all[i]
	}
	return nil
}

// fill sets the flags that the command line does not set.
func fill(c *cobra.Command, file configFile) error {
	var errs, unsafe []error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "config" || f.Name == "help" {
			return
		}
		env := flagVariable(f.Name)
		if v := os.Getenv(env); v != "" {
			if err := c.Flags().Set(f.Name, v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", env, valueError(err)))
			}
			return
		}
		node, ok := file.values[f.Name]
		if !ok {
			return
		}
		if err := file.safe(f.Name, node); err != nil {
			unsafe = append(unsafe, err)
			return
		}
		if err := setNode(c.Flags(), f.Name, node); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %s: %w", file.path, node.Line, f.Name, valueError(err)))
		}
	})
	if len(unsafe) > 0 {
		return hint{errors.Join(append(errs, unsafe...)...), "to use the whole file: --config " + file.path}
	}
	return errors.Join(errs...)
}

// setNode sets a flag to a scalar or to each element of a list; a flag with one value,
// such as --select, gets the list joined by commas.
func setNode(fs *pflag.FlagSet, name string, node yaml.Node) error {
	switch node.Kind {
	case yaml.ScalarNode:
		return fs.Set(name, node.Value)
	case yaml.SequenceNode:
		var values []string
		for _, n := range node.Content {
			if n.Kind != yaml.ScalarNode {
				return errors.New("want a list of plain values")
			}
			values = append(values, n.Value)
		}
		if _, many := fs.Lookup(name).Value.(pflag.SliceValue); !many {
			return fs.Set(name, strings.Join(values, ","))
		}
		for _, v := range values {
			if err := fs.Set(name, v); err != nil {
				return err
			}
		}
		return nil
	default:
		return errors.New("want a value or a list of values")
	}
}
