// Package kube describes a distributed load run as objects of Kubernetes: an Indexed Job of the
// workers, a Job of the coordinator, a ConfigMap with the plan, and a Secret.
//
// What lives here: the template of the objects (manifest.yaml.tmpl), what fills it, and the
// resources that a worker asks for. What may not: flags and command lines, which the caller passes
// as arguments of the containers, and any client of a cluster. Names and meanings of the fields are
// those of the Kubernetes API; its reference documents them.
package kube
