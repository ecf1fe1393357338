package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"go.yaml.in/yaml/v4"

	"assay/fakes/cluster"
	"assay/internal/kube"
	"assay/internal/testkit"
)

// kubernetesFiles is the folder with the example for Kubernetes.
const kubernetesFiles = "../../deploy/kubernetes"

func kubernetesFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(kubernetesFiles, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTheExampleForKubernetesIsValid(t *testing.T) {
	for _, name := range []string{"nats.yaml", "run.yaml"} {
		if err := cluster.Validate(kubernetesFile(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The example is what the program prints.
func TestTheRenderedExampleIsCurrent(t *testing.T) {
	p := newReader(t)
	if err := os.CopyFS(filepath.Join(p.dir, "deploy/kubernetes"), os.DirFS(kubernetesFiles)); err != nil {
		t.Fatal(err)
	}
	const command = "assay render k8s deploy/kubernetes/plan.yaml --workers 40 --run example"
	c := p.shell(t.Context(), command)
	// Under the race detector, the reader's commands have another scale, which render passes on to the pods.
	c.Env = append(c.Env, "ASSAY_TIME_SCALE=1")
	got, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(kubernetesFile(t, "run.yaml")), string(got)); d != "" {
		t.Errorf("%s > deploy/kubernetes/run.yaml writes it (-want +got):\n%s", command, d)
	}
}

// shop is a namespace: a cluster, a bus with the configuration of the example, and a gateway, both of which demand credentials.
type shop struct {
	*cluster.Cluster
	t       *testing.T
	dir     string
	gateway string
	bus     string
}

func newShop(t *testing.T, started func(cluster.Pod)) *shop {
	t.Helper()
	p := newReader(t)
	s := &shop{t: t, dir: p.dir}
	for name, text := range map[string]string{"token": "token-of-the-gateway-1", "creds": busToken} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const address = "127.0.0.1:8081"
	p.server(0, "assay serve --token-file token --listen "+address)
	s.gateway, s.bus = "http://"+p.addresses[address], exampleBus(t, p.dir)
	program := []string{"env", beProgram + "=1", "ASSAY_TIME_SCALE=" + strconv.Itoa(testkit.Slowdown), os.Args[0]}
	pods := filepath.Join(p.dir, "pods")
	if err := os.Mkdir(pods, 0o755); err != nil {
		t.Fatal(err)
	}
	// Without enableServiceLinks: false, the Service would set a variable that belongs to no flag.
	s.Cluster = cluster.New(cluster.Options{
		Dir: pods, Images: map[string][]string{"assay:" + version: program}, Services: []string{"assay-gateway"}, Started: started,
	})
	return s
}

const busToken = "token-of-the-bus-1234567890"

// exampleBus starts a NATS server with the configuration of nats.yaml on a free port, and returns its URL. It writes its
// certificate to bus.crt in dir.
func exampleBus(t *testing.T, dir string) string {
	t.Helper()
	certificate(t, dir)
	conf := ""
	for d := yaml.NewDecoder(bytes.NewReader(kubernetesFile(t, "nats.yaml"))); conf == ""; {
		var m kube.ConfigMap
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		conf = m.Data["nats.conf"]
	}
	for from, to := range map[string]string{
		"/data": filepath.Join(dir, "data"), "/etc/nats-tls/tls.crt": filepath.Join(dir, "bus.crt"), "/etc/nats-tls/tls.key": filepath.Join(dir, "bus.key"),
		"port: 4222": "listen: 127.0.0.1:-1", "http_port: 8222": "http: 127.0.0.1:-1", "$NATS_TOKEN": busToken,
	} {
		if !strings.Contains(conf, from) {
			t.Fatalf("%q is not in the configuration", from)
		}
		conf = strings.Replace(conf, from, to, 1)
	}
	o := &server.Options{NoSigs: true, NoLog: true}
	if err := o.ProcessConfigString(conf); err != nil {
		t.Fatal(err)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the bus does not accept connections")
	}
	return "tls://" + s.Addr().String()
}

// certificate writes a certificate for 127.0.0.1 and its key.
func certificate(t *testing.T, dir string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*pem.Block{"bus.crt": {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, "bus.key": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// run renders a plan for three workers, applies it, and returns the statuses of the workers and of the coordinator, and the
// report.
func (s *shop) run(plan string, flags ...string) (workers, coordinator cluster.Status, report string) {
	s.t.Helper()
	file := filepath.Join(s.dir, "plan.yaml")
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		s.t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(s.dir, name) }
	c := exec.CommandContext(s.t.Context(), os.Args[0], append([]string{
		"render", "k8s", file, s.gateway, "--run", "r", "--workers", "3", "--token-file", in("token"),
		"--bus", s.bus, "--bus-creds", in("creds"), "--bus-cacert", in("bus.crt"),
	}, flags...)...) //nolint:gosec // the test's own binary
	c.Env = append(os.Environ(), beProgram+"=1")
	var said bytes.Buffer
	c.Stderr = &said
	manifest, err := c.Output()
	if err != nil {
		s.t.Fatalf("%v\n%s", err, said.String())
	}
	if err := s.Apply(manifest); err != nil {
		s.t.Fatal(err)
	}
	all, err := s.RunAll(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	workers, coordinator = all["assay-r-worker"], all["assay-r-coordinator"]
	for _, p := range append(slices.Clone(workers.Pods), coordinator.Pods...) {
		log, err := os.ReadFile(p.Log)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Logf("%s: exit code %d\n%s", p.Name, p.Exit, log)
		if p.Job == "assay-r-coordinator" {
			report = string(log)
		}
	}
	return workers, coordinator, report
}

func TestTheRenderedJobsRun(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	workers, coordinator, report := s.run("streams: 30\ncount: 90\nclasses: [{name: short, lines: 3}]\n", "--deadline", "10m")
	if workers.Condition != cluster.Complete || !slices.Equal(workers.Completed, []int{0, 1, 2}) || coordinator.Condition != cluster.Complete {
		t.Errorf("workers %+v\ncoordinator %+v", workers, coordinator)
	}
	for _, want := range []string{"90 completed", "worker 3 of 3", "\nPASS in "} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	for _, p := range workers.Pods {
		log, err := os.ReadFile(p.Log)
		if want := fmt.Sprintf("shard %d of 3", p.Index); err != nil || !strings.Contains(string(log), want) {
			t.Errorf("the worker %s did not do %q: %s", p.Name, want, log)
		}
	}
}

// active waits until the gateway has a number of processes.
func (s *shop) active(n int) {
	want := fmt.Sprintf("coppice_commands_active %d\n", n)
	for look := time.NewTicker(10 * time.Millisecond); s.t.Context().Err() == nil; <-look.C {
		r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.gateway+"/metrics", nil)
		if err != nil {
			return
		}
		r.Header.Set("X-Access-Token", "token-of-the-gateway-1")
		if resp, err := http.DefaultClient.Do(r); err == nil {
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if strings.Contains(string(text), want) {
				return
			}
		}
	}
}

func TestANodeOfTheRenderedJobsIsDrained(t *testing.T) {
	t.Parallel()
	for policy, tt := range map[string]struct {
		exit int
		says string
	}{
		"abort":   {exitInconclusive, "INCONCLUSIVE"},
		"degrade": {0, "PASS"},
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			started := make(chan cluster.Pod, 4)
			s := newShop(t, func(p cluster.Pod) { started <- p })
			go func() {
				for p := range started {
					if p.Job == "assay-r-worker" && p.Index == 1 {
						s.active(30)
						_ = s.Evict(p.Name)
						return
					}
				}
			}()
			workers, coordinator, report := s.run("streams: 30\nramp: 0s\nduration: 3s\nclasses: [{name: held}]\n", "--lost-worker", policy)
			if workers.Reason != "FailedIndexes" || !slices.Equal(workers.Failed, []int{1}) {
				t.Errorf("workers %+v", workers)
			}
			if got := coordinator.Pods[0].Exit; got != tt.exit || !strings.Contains(report, tt.says) || !strings.Contains(report, "worker 2 of 3") {
				t.Errorf("coordinator %+v, want exit code %d and %q", coordinator, tt.exit, tt.says)
			}
		})
	}
}
