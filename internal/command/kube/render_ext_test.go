package kube_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"assay/internal/command/kube"
	"assay/internal/command/kube/kubetest"
	"assay/internal/testkit"
)

var update = flag.Bool("update", false, "rewrite the golden file in testdata")

// options are those of a run with everything.
func options() kube.Options {
	return kube.Options{
		Run: "nightly", Namespace: "load", Image: "registry.example/assay:1.2.0", Version: "1.2.0+dirty", Workers: 40,
		WorkerArgs:      []string{"worker", "--bus", "tls://nats:4222", "--header", "x-price: $(cost) $5"},
		CoordinatorArgs: []string{"load", "http://gateway:8081", "--plan", kube.File("plan.yaml")},
		ShardFlag:       "--shard",
		TokenVariable:   "TOKEN",
		Files:           map[string]string{"plan.yaml": "streams: 100000\nclasses:\n  - name: held\n", "ca.crt": "a certificate\n"},
		Secrets:         map[string][]byte{kube.TokenKey: []byte("first"), "bus.creds": []byte("second"), "headers": []byte("x: y\n")},
		Size:            kube.Size{Streams: 30_000, Connections: 30_000, MilliCPU: 1000, Memory: 600 << 20, WidePorts: true},
		Deadline:        20*time.Minute + time.Millisecond, Grace: 31 * time.Second,
	}
}

func written(t *testing.T, o kube.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := kube.Write(&out, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheManifestIsTheGoldenOne(t *testing.T) {
	got := written(t, options())
	testkit.Golden(t, "testdata/run.yaml", got, *update)
	if again := written(t, options()); again != got {
		t.Error("the second time it is another")
	}
}

func TestTheManifestIsValid(t *testing.T) {
	for name, change := range map[string]func(*kube.Options){
		"with everything":        func(*kube.Options) {},
		"without secrets":        func(o *kube.Options) { o.Secrets = nil },
		"with a secret to come":  func(o *kube.Options) { o.Secrets = map[string][]byte{"bus.creds": nil} },
		"without a namespace":    func(o *kube.Options) { o.Namespace = "" },
		"with the longest names": func(o *kube.Options) { o.Run, o.Workers = strings.Repeat("n", 40), 1_000_000 },
		"one worker":             func(o *kube.Options) { o.Workers, o.Size = 1, kube.Size{Memory: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			change(&o)
			text := written(t, o)
			if err := kubetest.Validate([]byte(text)); err != nil {
				t.Fatal(err)
			}
			jobs := jobs(t, text)
			if len(jobs) != 2 {
				t.Fatalf("%d jobs", len(jobs))
			}
			for _, j := range jobs {
				restricted(t, &j.Spec.Template.Spec)
			}
			w := jobs[kube.Name(o.Run, kube.Worker)].Spec
			if w.Completions != o.Workers || w.Parallelism != o.Workers || w.BackoffLimitPerIndex != 0 {
				t.Errorf("%+v", w)
			}
			// The names of the pods are those of hosts.
			if last := fmt.Sprintf("%s-%d", kube.Name(o.Run, kube.Worker), o.Workers-1); len(last) > 63 {
				t.Errorf("the name %q is too long", last)
			}
		})
	}
}

// job is what the tests read of a Job.
type job struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Completions, Parallelism, BackoffLimitPerIndex int
		Template                                       struct{ Spec pod }
	}
}

// pod is what the tests read of a pod.
type pod struct {
	SecurityContext struct {
		RunAsNonRoot   bool
		RunAsUser      int
		SeccompProfile struct{ Type string }
		Sysctls        []struct{ Name string }
	}
	Containers []struct {
		SecurityContext struct {
			AllowPrivilegeEscalation bool
			Capabilities             struct{ Drop []string }
		}
	}
	Volumes []map[string]any
}

// jobs returns the Jobs of a manifest by their names.
func jobs(t *testing.T, manifest string) map[string]job {
	t.Helper()
	all := map[string]job{}
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		var object any
		var j job
		err := yaml.Unmarshal([]byte(document), &object)
		text, err2 := json.Marshal(object) // whose names of fields match in any case
		if err := errors.Join(err, err2, json.Unmarshal(text, &j)); err != nil {
			t.Fatal(err)
		}
		if j.Kind == "Job" {
			all[j.Metadata.Name] = j
		}
	}
	return all
}

// A manifest that a mistake in this package could make is refused.
func TestABrokenManifestIsNotValid(t *testing.T) {
	good := written(t, options())
	for from, to := range map[string]string{
		"  completions: 40":           "  completions: forty",
		"backoffLimitPerIndex: 0":     "backofLimitPerIndex: 0",
		"whenUnsatisfiable":           "whenUnsatisfied",
		"secretName: assay":           "name: assay",
		"mountPath: /etc/assay":       "path: /etc/assay",
		"immutable: true":             "immutable: 'true'",
		"activeDeadlineSeconds: 1201": "activeDeadlineSeconds: 20m",
		"topologyKey: kubernetes":     "topology: kubernetes",
		"runAsUser: 65532":            "runAsUser: nobody",
		"apiVersion: batch/v1":        "apiVersion: batch/v2",
	} {
		broken := strings.Replace(good, from, to, 1)
		if broken == good {
			t.Errorf("%q is not in it", from)
		} else if kubetest.Validate([]byte(broken)) == nil {
			t.Errorf("%q was taken for %q", to, from)
		}
	}
}

// restricted requires what the restricted Pod Security Standard does of a Linux pod.
func restricted(t *testing.T, p *pod) {
	t.Helper()
	s, c := p.SecurityContext, p.Containers[0].SecurityContext
	if !s.RunAsNonRoot || s.RunAsUser == 0 || s.SeccompProfile.Type != "RuntimeDefault" || c.AllowPrivilegeEscalation || !slices.Equal(c.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("%+v %+v", s, c)
	}
	for _, v := range p.Volumes {
		if v["configMap"] == nil && v["secret"] == nil {
			t.Errorf("%+v", v)
		}
	}
	for _, one := range s.Sysctls {
		if one.Name != "net.ipv4.ip_local_port_range" {
			t.Errorf("%+v is no safe setting", one)
		}
	}
}

func TestTheSecretsAreInTheSecretAlone(t *testing.T) {
	o := options()
	o.Secrets[kube.TokenKey] = []byte("much-too-secret")
	text := written(t, o)
	coded := base64.StdEncoding.EncodeToString(o.Secrets[kube.TokenKey])
	if strings.Contains(text, "much-too-secret") || strings.Count(text, coded) != 1 {
		t.Errorf("the token is not in the Secret alone:\n%s", text)
	}
}

func TestTheCommentOfTheSecretSaysWhatIsMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		secrets map[string][]byte
		want    []string
	}{
		"nothing":         {map[string][]byte{kube.TokenKey: {1}, "bus.creds": {1}}, []string{"do not commit"}},
		"the token":       {map[string][]byte{"bus.creds": {1}}, []string{"token (of the target", "--token-file"}},
		"the credentials": {map[string][]byte{kube.TokenKey: {1}, "bus.creds": nil}, []string{"bus.creds (the pods wait for it)", "--bus-creds"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.Secrets = tt.secrets
			for _, want := range tt.want {
				if text := written(t, o); !strings.Contains(text, want) {
					t.Errorf("want %q in\n%s", want, text)
				}
			}
		})
	}
}

func TestWhatKubernetesWouldRefuseIsNotWritten(t *testing.T) {
	for want, change := range map[string]func(*kube.Options){
		"small letters": func(o *kube.Options) { o.Run = "Nightly" },
		"at most 40":    func(o *kube.Options) { o.Run = strings.Repeat("n", 41) },
		"at most 63":    func(o *kube.Options) { o.Namespace = "-" },
		"one pod":       func(o *kube.Options) { o.Workers = 0 },
		"a ConfigMap":   func(o *kube.Options) { o.Files["big"] = strings.Repeat("x", 1<<20) },
		"a Secret has":  func(o *kube.Options) { o.Secrets["big"] = make([]byte, 1<<20) },
		"want the name": func(o *kube.Options) { o.Image = "a b" },
	} {
		o := options()
		change(&o)
		var out bytes.Buffer
		if err := kube.Write(&out, o); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%v, want %q; wrote %d bytes", err, want, out.Len())
		}
	}
}

func TestAWorkerAsksForWhatItsStreamsNeed(t *testing.T) {
	for name, tt := range map[string]struct {
		load    kube.Load
		workers int
		want    kube.Size
	}{
		"few streams": {kube.Load{Streams: 100, Starts: 10, Lines: 1}, 4, kube.Size{Streams: 25, MilliCPU: 250, Memory: 96<<20 + 25<<10}},
		"many on shared connections": {
			kube.Load{Streams: 1_000_000, Starts: 1000, Lines: 1}, 20,
			kube.Size{Streams: 50_000, MilliCPU: 506, Memory: 96<<20 + 50_000<<10},
		},
		"as fast as the gateway allows": {kube.Load{Streams: 64}, 4, kube.Size{Streams: 16, MilliCPU: 1000, Memory: 96<<20 + 16<<10}},
		"more than a core":              {kube.Load{Streams: 10, Starts: 100_000}, 1, kube.Size{Streams: 10, MilliCPU: 1000, Memory: 96<<20 + 10<<10}},
		"connections of their own, over TLS": {
			kube.Load{Streams: 80_000, OwnSockets: true, StreamBytes: 10 << 10, Starts: 1}, 4,
			kube.Size{Streams: 20_000, Connections: 20_000, MilliCPU: 250, Memory: 96<<20 + 20_000*27<<10},
		},
		"more connections than usual ports": {
			kube.Load{Streams: 60_001, OwnSockets: true, Starts: 1}, 2,
			kube.Size{Streams: 30_001, Connections: 30_001, MilliCPU: 250, Memory: 96<<20 + 30_001*17<<10, WidePorts: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.load.Share(tt.workers)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
	_, err := kube.Load{Streams: 200_000, OwnSockets: true}.Share(3)
	if want := "at least 4 workers"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func ExampleName() {
	fmt.Println(kube.Name("nightly", kube.Worker), kube.Name("nightly", ""))
	// Output: assay-nightly-worker assay-nightly
}
