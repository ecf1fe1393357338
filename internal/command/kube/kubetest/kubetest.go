// Package kubetest holds manifests against the schema that Kubernetes publishes. Only tests import it.
package kubetest

import (
	"bytes"
	_ "embed" // the schema
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

//go:embed schema/kubernetes.json
var kubernetes []byte

var schema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(kubernetes))
	if err != nil {
		return nil, fmt.Errorf("the schema of Kubernetes: %w", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("kubernetes.json", document); err != nil {
		return nil, fmt.Errorf("the schema of Kubernetes: %w", err)
	}
	return c.Compile("kubernetes.json")
})

// Validate checks YAML documents: Jobs, ConfigMaps, Secrets, Services and Deployments, with no field that Kubernetes does not know. Errors
// say which document is wrong.
func Validate(manifests []byte) error {
	s, err := schema()
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(manifests))
	for i := 1; ; i++ {
		var value any
		if err := d.Decode(&value); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("document %d is no YAML: %w", i, err)
		}
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("document %d: %w", i, err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			err = s.Validate(document)
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", i, err)
		}
	}
}
