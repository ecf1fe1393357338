// Package cluster is a Kubernetes cluster to try manifests on: it refuses what an API server refuses,
// and runs the pods of Jobs as processes of this machine.
//
// What lives here: the published schema of the kinds that it knows, the rules that a schema cannot
// express, the controller of Jobs, and the part of a kubelet that makes the volumes and the
// environment of a pod. What it does not do: it has no nodes, no network, no images and no users. A path in
// the arguments of a container that begins with a mount is replaced by a folder of the pod, and the
// time between the retries of a pod is left out. Only tests import it.
package cluster
