package kube

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"
)

// The folders that the containers see. FilesDir has the files of Options.Files, SecretsDir those
// of Options.Secrets.
const (
	FilesDir   = "/etc/assay"
	SecretsDir = "/run/secrets/assay"
)

// TokenKey is the key of the target's token in the Secret. The containers have it in a variable of
// their environment, if the Secret has it.
const TokenKey = "token"

// Options describe a run. All fields but Namespace are required.
type Options struct {
	// Run is the name of the run on the bus. The names of all objects have it: CheckRun.
	Run string
	// Namespace is that of the objects; "" leaves it to kubectl.
	Namespace string
	// Image is the container image of this program, and Version its version.
	Image, Version string
	// Workers is the number of worker pods, from 1.
	Workers int
	// WorkerArgs and CoordinatorArgs are the arguments of the program. A worker gets its index behind
	// ShardFlag, too.
	WorkerArgs, CoordinatorArgs []string
	ShardFlag                   string
	// TokenVariable is the variable of the environment that gets the value of TokenKey.
	TokenVariable string
	// Files are the texts of the ConfigMap, by their names in FilesDir.
	Files map[string]string
	// Secrets are the values of the Secret, by their names in SecretsDir. A value that is nil is for
	// the user to fill: the pods wait until the Secret has it. TokenKey may be absent.
	Secrets map[string][]byte
	// Size is what one worker needs.
	Size Size
	// Deadline ends the Jobs, and Grace is how long a pod may take to end after a signal.
	Deadline, Grace time.Duration
}

const (
	// maxRun is the most characters of the name of a run: "assay-RUN-coordinator" is a label, which
	// has at most 63, and so has the name of the host "assay-RUN-worker-INDEX".
	maxRun = 40
	// maxFiles is the most that a ConfigMap or a Secret may have, in bytes.
	maxFiles = 1 << 20
)

// label is a name of RFC 1123, which the names of objects consist of.
var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// CheckRun checks the name of a run.
func CheckRun(name string) error {
	if len(name) > maxRun || !label.MatchString(name) {
		return fmt.Errorf("%q: want at most %d small letters, digits and -, with a letter or a digit at both ends; Kubernetes names objects after it", name, maxRun)
	}
	return nil
}

// CheckNamespace checks the name of a namespace; "" is none.
func CheckNamespace(name string) error {
	if name != "" && (len(name) > 63 || !label.MatchString(name)) {
		return fmt.Errorf("%q: want at most 63 small letters, digits and -, with a letter or a digit at both ends", name)
	}
	return nil
}

// CheckImage checks the name of an image, as far as a typing error may be in it.
func CheckImage(name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("%q: want the name of a container image, for example registry.example/assay:1.0", name)
	}
	return nil
}

// CheckWorkers checks the number of workers.
func CheckWorkers(n int) error {
	if n < 1 {
		return fmt.Errorf("%d: want how many workers share the plan, from 1: one pod for each", n)
	}
	return nil
}

// File returns the path at which a container sees a file of Options.Files.
func File(name string) string { return path.Join(FilesDir, name) }

// SecretFile returns the path at which a container sees a value of Options.Secrets.
func SecretFile(name string) string { return path.Join(SecretsDir, name) }

func (o *Options) validate() error {
	size := 0
	for _, text := range o.Files {
		size += len(text)
	}
	secret := 0
	for _, value := range o.Secrets {
		secret += len(value)
	}
	var errs []error
	if size > maxFiles {
		errs = append(errs, fmt.Errorf("the plan and the other files have %d bytes: a ConfigMap has at most %d", size, maxFiles))
	}
	if secret > maxFiles {
		errs = append(errs, fmt.Errorf("the secrets have %d bytes: a Secret has at most %d", secret, maxFiles))
	}
	return errors.Join(append(errs, CheckRun(o.Run), CheckNamespace(o.Namespace), CheckWorkers(o.Workers), CheckImage(o.Image))...)
}
