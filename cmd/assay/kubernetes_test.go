package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v4"

	"assay/internal/command/kube/kubetest"
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
		if err := kubetest.Validate(kubernetesFile(t, name)); err != nil {
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

const busToken = "token-of-the-bus-1234567890"

// The configuration in nats.yaml is that of a bus, with TLS and a token.
func TestTheBusOfTheExampleStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certificate(t, dir)
	conf := ""
	for d := yaml.NewDecoder(bytes.NewReader(kubernetesFile(t, "nats.yaml"))); conf == ""; {
		var m struct{ Data map[string]string }
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
	b, err := nats.Connect("tls://"+s.Addr().String(), nats.RootCAs(filepath.Join(dir, "bus.crt")), nats.Token(busToken))
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if b, err := nats.Connect("tls://"+s.Addr().String(), nats.RootCAs(filepath.Join(dir, "bus.crt"))); err == nil {
		b.Close()
		t.Error("it takes a client without a token")
	}
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

// cmdValid requires that the manifest in a file (or stdout) is valid: valid stdout.
func cmdValid(ts *testscript.TestScript, neg bool, args []string) {
	if err := kubetest.Validate([]byte(ts.ReadFile(args[0]))); neg != (err != nil) {
		ts.Fatalf("%s: %v", args[0], err)
	}
}
