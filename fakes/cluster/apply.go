package cluster

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"assay/internal/kube"
)

// Objects are what was applied, by kind and name.
type Objects struct {
	Jobs       map[string]kube.Job
	ConfigMaps map[string]kube.ConfigMap
	// Secrets has the values of the Secrets, by their names and keys.
	Secrets map[string]map[string][]byte
}

func newObjects() Objects {
	return Objects{Jobs: map[string]kube.Job{}, ConfigMaps: map[string]kube.ConfigMap{}, Secrets: map[string]map[string][]byte{}}
}

// Validate holds YAML documents against the schema of Kubernetes: Jobs, ConfigMaps, Secrets, Services and
// Deployments. Errors say which document is wrong.
func Validate(manifests []byte) error {
	return each(manifests, func(node *yaml.Node) error {
		_, err := valid(node)
		return err
	})
}

// Read reads YAML documents as kubectl apply does: each must be valid against the schema of
// Kubernetes and against the rules that the schema cannot express, and have no kind and no field that this
// package does not know. Errors say which document is wrong.
func Read(manifests []byte) (Objects, error) {
	out := newObjects()
	return out, each(manifests, out.add)
}

// each calls do for each document.
func each(manifests []byte, do func(*yaml.Node) error) error {
	d := yaml.NewDecoder(bytes.NewReader(manifests))
	for i := 1; ; i++ {
		var node yaml.Node
		if err := d.Decode(&node); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("document %d is no YAML: %w", i, err)
		}
		if err := do(&node); err != nil {
			return fmt.Errorf("document %d: %w", i, err)
		}
	}
}

// valid checks a document against its schema, and returns its kind.
func valid(node *yaml.Node) (kind string, err error) {
	value, err := asJSON(node)
	if err != nil {
		return "", err
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return "", errors.New("this is no object")
	}
	kind, _ = fields["kind"].(string)
	return kind, validate(kind, value)
}

func (o *Objects) add(node *yaml.Node) error {
	kind, err := valid(node)
	if err != nil {
		return err
	}
	switch kind {
	case kube.KindJob:
		return add(o.Jobs, node, func(j kube.Job) (string, error) { return j.Metadata.Name, check(&j) })
	case kube.KindConfigMap:
		return add(o.ConfigMaps, node, func(c kube.ConfigMap) (string, error) { return c.Metadata.Name, checkName(c.Metadata) })
	case kube.KindSecret:
		return o.addSecret(node)
	}
	return fmt.Errorf("this cluster does not know the kind %q", kind)
}

func add[T any](all map[string]T, node *yaml.Node, check func(T) (string, error)) error {
	var object T
	if err := strictly(node, &object); err != nil {
		return err
	}
	name, err := check(object)
	if err != nil {
		return err
	}
	if _, twice := all[name]; twice {
		return fmt.Errorf("%q is there twice", name)
	}
	all[name] = object
	return nil
}

func (o *Objects) addSecret(node *yaml.Node) error {
	var s kube.Secret
	if err := strictly(node, &s); err != nil {
		return err
	}
	values := map[string][]byte{}
	for key, text := range s.Data {
		value, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return fmt.Errorf("data.%s: %w", key, err)
		}
		values[key] = value
	}
	o.Secrets[s.Metadata.Name] = values
	return checkName(s.Metadata)
}

// asJSON returns a document as the schema sees it.
func asJSON(node *yaml.Node) (any, error) {
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

// strictly decodes a document; a field that the type does not have is an error.
func strictly(node *yaml.Node, into any) error {
	text, err := yaml.Dump(node)
	if err != nil {
		return err
	}
	if err := yaml.Load(text, into, yaml.WithKnownFields()); err != nil {
		return fmt.Errorf("this cluster does not know it: %w", err)
	}
	return nil
}

// merge adds objects; those with the same names are replaced.
func (o *Objects) merge(more Objects) {
	maps.Copy(o.Jobs, more.Jobs)
	maps.Copy(o.ConfigMaps, more.ConfigMaps)
	maps.Copy(o.Secrets, more.Secrets)
}
