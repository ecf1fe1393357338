package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// failed replaces a missing report on stdout with --format json.
type failed struct {
	Schema string            `json:"schema"`
	Tool   map[string]string `json:"tool"`
	Exit   int               `json:"exit"`
	Error  string            `json:"error"`
}

// failure writes the error object of a command with --format json that ended
// without output.
func failure(c *cobra.Command, io stdio, code int, err error) error {
	format := c.Flags().Lookup("format")
	if err == nil || format == nil || format.Value.String() != "json" {
		return nil
	}
	if out, ok := io.out.To.(*output); ok && out.written {
		return nil
	}
	var ex *exitError
	if errors.As(err, &ex) && ex.err == nil {
		return nil // the report says why
	}
	text, err := json.MarshalIndent(failed{
		Schema: "assay.error/v1", Tool: map[string]string{"name": "assay", "version": version}, Exit: code, Error: err.Error(),
	}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(io.out.To, "%s\n", text)
	return err
}
