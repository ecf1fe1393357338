// Package sandboxes gets the sandboxes of a run from a control plane, one or a [Fleet], keeps
// them alive, and deletes them in the end.
//
// Here lives what a run needs of the REST API: create, get, extend, delete, and the
// health of the sandbox. Judging a control plane is the work of scenarios, and
// requests to the sandbox itself are those of package target.
package sandboxes
