package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// faulty is the part of the files of deploy/ci that a test runs, against a gateway that loses exit codes.
const faulty = "--select process.exit.codes,axis:connect/json/1.1/identity --reproduce 0"

// readYAML reads a file of deploy/ci.
func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy/ci", path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// ciJob is a shell of a CI job, with a good and a broken gateway in reach.
type ciJob struct {
	*reader
	good, broken string
}

func newJob(t *testing.T) *ciJob {
	t.Helper()
	p := newReader(t)
	const good, broken = "127.0.0.1:8081", "127.0.0.1:8082"
	p.server(0, "assay serve --listen "+good)
	p.server(0, "assay serve --fault exit-code-zeroed --listen "+broken)
	// The go of the job builds by copying the program under test.
	builder := "#!/bin/sh\n[ \"$1 $2 $3 $5\" = 'build -trimpath -o ./cmd/assay' ] || exit 9\ncp '" + filepath.Join(p.dir, "bin", "assay") + "' \"$4\"\n"
	if err := os.WriteFile(filepath.Join(p.dir, "bin", "go"), []byte(builder), 0o755); err != nil {
		t.Fatal(err)
	}
	return &ciJob{p, "http://" + p.addresses[good], "http://" + p.addresses[broken]}
}

// script runs a script as a runner does, and returns its exit code and its output.
func (j *ciJob) script(text string, env map[string]string) (int, string) {
	j.t.Helper()
	c := j.shell(j.t.Context(), "")
	c.Args = []string{"sh", "-e", "-c", text}
	for name, value := range env {
		c.Env = append(c.Env, name+"="+value)
	}
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		j.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

// exist requires files of the job, and that they are not empty.
func (j *ciJob) exist(names ...string) {
	j.t.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(j.dir, name)); err != nil || info.Size() == 0 {
			j.t.Errorf("%s is missing or empty: %v", name, err)
		}
	}
}

// action is an action of GitHub.
type action struct {
	Inputs map[string]struct {
		Required bool
		Default  string
	}
	Runs struct {
		Using string
		Steps []struct {
			Name, Shell, Run, Uses string
			Env                    map[string]string
		}
	}
}

var ghExpression = regexp.MustCompile(`\$\{\{ *([a-z.-]+) *\}\}`)

// run runs the steps of the action with some inputs.
func (a *action) run(j *ciJob, with map[string]string) (int, string) {
	j.t.Helper()
	said := ""
	for _, step := range a.Runs.Steps {
		if step.Uses != "" || step.Shell != "sh" || ghExpression.MatchString(step.Run) {
			j.t.Fatalf("the step %q uses %q in the shell %q, or has an expression in its script", step.Name, step.Uses, step.Shell)
		}
		env := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_ACTION_PATH": filepath.Join(j.dir, "repo/deploy/ci/github")}
		for name, value := range step.Env {
			env[name] = ghExpression.ReplaceAllStringFunc(value, func(expression string) string {
				name := ghExpression.FindStringSubmatch(expression)[1]
				if name == "runner.temp" {
					return j.dir
				}
				input, ok := strings.CutPrefix(name, "inputs.")
				if _, known := a.Inputs[input]; !ok || !known {
					j.t.Errorf("%s is no input", name)
				}
				if value, given := with[input]; given {
					return value
				}
				return a.Inputs[input].Default
			})
		}
		code, out := j.script(step.Run, env)
		said += out
		if code != 0 {
			return code, said
		}
	}
	return 0, said
}

func TestTheActionForGitHubTestsAGateway(t *testing.T) {
	t.Parallel()
	j := newJob(t)
	if err := os.MkdirAll(filepath.Join(j.dir, "repo/deploy/ci/github"), 0o755); err != nil {
		t.Fatal(err)
	}
	var a action
	readYAML(t, "github/action.yml", &a)
	if a.Runs.Using != "composite" || !a.Inputs["url"].Required {
		t.Errorf("the action is %+v", a)
	}
	code, said := a.run(j, map[string]string{"url": j.good, "args": faulty})
	if code != 0 || !strings.Contains(said, "::notice title=Assay%3A PARTIAL") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	j.exist("assay-report/junit.xml", "assay-report/ctrf.json", "assay-report/metrics.txt", "assay-report/report.html", "assay-report/run/manifest.json", "summary.md")

	binary := filepath.Join(j.dir, "bin", "assay")
	code, said = a.run(j, map[string]string{"url": j.broken, "args": faulty, "binary": binary, "profile": "e2b", "out": "a report"})
	if code != 1 || !strings.Contains(said, "::error title=process.end.exit-code::") || !strings.Contains(said, "profile e2b") {
		t.Errorf("a broken gateway: exit code %d\n%s", code, said)
	}
	j.exist("a report/junit.xml")
	code, said = a.run(j, map[string]string{"url": j.good, "args": faulty, "binary": binary, "known": "nonesuch.yaml"})
	if code != exitUsage || !strings.Contains(said, "nonesuch.yaml") {
		t.Errorf("a list that does not exist: exit code %d\n%s", code, said)
	}
}

// gitlabFile is a file of GitLab CI with one job.
type gitlabFile struct {
	Assay struct {
		Variables map[string]string
		Script    []string
		Artifacts struct {
			When    string
			Paths   []string
			Reports map[string]string
		}
	}
}

func TestTheJobForGitLabTestsAGateway(t *testing.T) {
	t.Parallel()
	j := newJob(t)
	var f gitlabFile
	readYAML(t, "gitlab/assay.gitlab-ci.yml", &f)
	job := &f.Assay
	for _, c := range []struct {
		url, program string
		code         int
	}{{j.good, "built/assay", 0}, {j.broken, "bin/assay", 1}} {
		if err := os.MkdirAll(filepath.Join(j.dir, "built"), 0o755); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{}
		for name, value := range job.Variables {
			env[name] = value
		}
		env["GATEWAY_URL"], env["ASSAY"], env["CONFORM_FLAGS"] = c.url, c.program, faulty
		code, said := j.script(strings.Join(job.Script, "\n"), env)
		if code != c.code {
			t.Errorf("exit code %d, want %d\n%s", code, c.code, said)
		}
		j.exist(append(job.Artifacts.Paths, job.Artifacts.Reports["junit"], job.Artifacts.Reports["metrics"])...)
	}
	if job.Artifacts.When != "always" {
		t.Error("a failed job keeps no artifacts")
	}
}
