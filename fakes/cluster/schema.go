package cluster

import (
	"bytes"
	_ "embed" // the schema
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schema/kubernetes.json
var kubernetes []byte

// schemas are the compiled schemas by kind.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(kubernetes))
	if err != nil {
		return nil, fmt.Errorf("the schema of Kubernetes: %w", err)
	}
	const name = "kubernetes.json"
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, document); err != nil {
		return nil, fmt.Errorf("the schema of Kubernetes: %w", err)
	}
	all := map[string]*jsonschema.Schema{}
	for kind, definition := range map[string]string{
		"Job": "io.k8s.api.batch.v1.Job", "Secret": "io.k8s.api.core.v1.Secret", "ConfigMap": "io.k8s.api.core.v1.ConfigMap",
		"Service": "io.k8s.api.core.v1.Service", "Deployment": "io.k8s.api.apps.v1.Deployment",
	} {
		if all[kind], err = c.Compile(name + "#/$defs/" + definition); err != nil {
			return nil, fmt.Errorf("the schema of Kubernetes: %w", err)
		}
	}
	return all, nil
})

// validate checks a value of JSON against the schema of its kind.
func validate(kind string, value any) error {
	all, err := schemas()
	if err != nil {
		return err
	}
	s := all[kind]
	if s == nil {
		return fmt.Errorf("the kind %q is not served here", kind)
	}
	var invalid *jsonschema.ValidationError
	if err := s.Validate(value); errors.As(err, &invalid) {
		return fmt.Errorf("against the schema of Kubernetes: %w", invalid)
	} else if err != nil {
		return err
	}
	return nil
}
