package scenarios

import (
	"fmt"
	"math"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"assay/internal/base/safefile"
)

// Workload is the file of a load plan: the kinds of streams, and when they start. Zero
// values are absent fields. See the schema "plan".
type Workload struct {
	Title string `yaml:"title"`
	Seed  uint64 `yaml:"seed"`
	// HTTP is 1.1, h2c or h2-tls.
	HTTP string `yaml:"http"`
	// At most one of Streams, Rate and Stages is set.
	Streams int             `yaml:"streams"`
	Rate    float64         `yaml:"rate"`
	Stages  []WorkloadStage `yaml:"stages"`
	// Arrivals is even or poisson.
	Arrivals string        `yaml:"arrivals"`
	Ramp     time.Duration `yaml:"ramp"`
	// AtOnce is set if the plan gives a ramp of 0: an absent one is the default of a run.
	AtOnce     bool                `yaml:"-"`
	Duration   time.Duration       `yaml:"duration"`
	Count      int                 `yaml:"count"`
	Warmup     time.Duration       `yaml:"warmup"`
	Thresholds []WorkloadThreshold `yaml:"thresholds"`
	// Classes has at least one entry.
	Classes []WorkloadClass `yaml:"classes"`
	// Text is the source of the plan.
	Text []byte `yaml:"-"`
}

// WorkloadStage is a rate for a duration: constant, or linear From one To another.
type WorkloadStage struct {
	Duration time.Duration `yaml:"duration"`
	Rate     *float64      `yaml:"rate"`
	From     float64       `yaml:"from"`
	To       float64       `yaml:"to"`
}

// WorkloadThreshold is a condition. With Abort, the run ends as soon as the condition
// fails, but not before Delay.
type WorkloadThreshold struct {
	Expr  string        `yaml:"expr"`
	Abort bool          `yaml:"abort"`
	Delay time.Duration `yaml:"delay"`
}

// UnmarshalYAML reads a threshold; a scalar is the condition.
func (t *WorkloadThreshold) UnmarshalYAML(n *yaml.Node) error {
	type plain WorkloadThreshold
	return orScalar(n, (*plain)(t), func(text string) { t.Expr = text })
}

// WorkloadClass is one kind of stream.
type WorkloadClass struct {
	Name            string        `yaml:"name"`
	Share           float64       `yaml:"share"` // default 1
	Protocol        string        `yaml:"protocol"`
	Codec           string        `yaml:"codec"`
	Command         string        `yaml:"command"`
	Lines           int           `yaml:"lines"`
	Expect          string        `yaml:"expect"`
	Endless         bool          `yaml:"endless"`
	Interval        time.Duration `yaml:"interval"`
	Silence         time.Duration `yaml:"silence"`
	Think           time.Duration `yaml:"think"`
	Hold            time.Duration `yaml:"hold"`
	KillShare       float64       `yaml:"kill_share"`
	DisconnectShare float64       `yaml:"disconnect_share"`
	Within          time.Duration `yaml:"within"`
	Stdin           *string       `yaml:"stdin"` // nil is no input, "" is input that is closed at once
}

// ReadWorkload reads a load plan from a file.
func ReadWorkload(file string) (*Workload, error) {
	text, err := safefile.Read(file, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	return ParseWorkload(file, text)
}

// ParseWorkload parses a load plan. Errors are *ScriptError, joined.
func ParseWorkload(file string, text []byte) (*Workload, error) {
	d, value := parseDocument(file, text)
	if len(d.errs) == 0 {
		d.validate("plan", value)
	}
	if len(d.errs) > 0 {
		return nil, joinErrors(d.errs)
	}
	w := new(Workload)
	if err := d.root.Decode(w); err != nil {
		d.decodeError(err)
		return nil, joinErrors(d.errs)
	}
	w.AtOnce = d.keys["/ramp"] != nil && w.Ramp == 0
	checkWorkload(w, d)
	if err := joinErrors(d.errs); err != nil {
		return nil, err
	}
	for i := range w.Classes {
		if w.Classes[i].Share == 0 {
			w.Classes[i].Share = 1
		}
	}
	w.Text = text
	return w, nil
}

// checkWorkload reports the errors that the schema cannot express.
func checkWorkload(w *Workload, d *document) {
	open := w.Rate > 0 || len(w.Stages) > 0
	together := func(place, other string, both bool, hint string) {
		if both {
			d.errorf(d.key(place), hint, "%s and %s do not go together", place[1:], other)
		}
	}
	const models = "streams keeps that many open, rate and stages start that many per second: choose one"
	together("/rate", "streams", w.Rate > 0 && w.Streams > 0, models)
	together("/stages", "streams", len(w.Stages) > 0 && w.Streams > 0, models)
	together("/stages", "rate", len(w.Stages) > 0 && w.Rate > 0, models)
	together("/ramp", "stages", len(w.Stages) > 0 && w.Ramp > 0, "write the ramp as a stage: {duration: 10s, from: 0, to: 100}")
	together("/duration", "stages", len(w.Stages) > 0 && w.Duration > 0, "leave it out: the run ends after the last stage")
	together("/arrivals", "streams", w.Arrivals != "" && !open, "arrivals need rate or stages")
	if w.Duration > 0 && w.Ramp > w.Duration {
		d.errorf(d.key("/ramp"), "", "the ramp of %v is longer than the duration of %v", w.Ramp, w.Duration)
	}
	if w.Duration > 0 && w.Warmup >= w.Duration {
		d.errorf(d.key("/warmup"), "", "the warm-up of %v leaves nothing to measure in the duration of %v", w.Warmup, w.Duration)
	}
	whole := time.Duration(0)
	for i, s := range w.Stages {
		place := fmt.Sprintf("/stages/%d", i)
		if whole += s.Duration; whole < 0 {
			d.errorf(d.key(place+"/duration"), "", "the stages are longer than %v together", time.Duration(math.MaxInt64))
			break
		}
		if s.Rate != nil && (d.keys[place+"/from"] != nil || d.keys[place+"/to"] != nil) {
			d.errorf(d.key(place+"/rate"), "write a constant rate, or from and to", "rate does not go with from and to")
		}
		if s.Duration == 0 {
			d.errorf(d.key(place+"/duration"), "", "the stage has no duration")
		}
	}
	names := map[string]bool{}
	for i := range w.Classes {
		place, c := fmt.Sprintf("/classes/%d", i), &w.Classes[i]
		figure := strings.ReplaceAll(c.Name, "-", "_") // as thresholds write it
		if names[figure] {
			d.errorf(d.key(place+"/name"), "names must differ in more than - and _", "there is another class %q", c.Name)
		}
		names[figure] = true
		if c.Think > 0 && open {
			d.errorf(d.key(place+"/think"), "think needs a fixed number of open streams: use streams", "think does not go with rate and stages")
		}
		if w.HTTP != "" && w.HTTP != "1.1" && c.Protocol == "ws" {
			d.errorf(d.key(place+"/protocol"), "use http: 1.1", "ws upgrades a connection of HTTP/1.1")
		}
		if w.HTTP == "1.1" && c.Protocol == "grpc" {
			d.errorf(d.key(place+"/protocol"), "use http: h2c (h2-tls for https), or grpc-web", "grpc does not go with http 1.1")
		}
		checkWorkloadClass(c, place, d)
	}
}

func checkWorkloadClass(c *WorkloadClass, place string, d *document) {
	fail := func(field, hint, message string) { d.errorf(d.key(place+"/"+field), hint, "%s", message) }
	if c.Lines > 0 && c.Command != "" {
		fail("lines", "lines is the built-in command", "lines and command do not go together")
	}
	if c.Command == "" {
		for field, set := range map[string]bool{"expect": c.Expect != "", "endless": c.Endless, "interval": c.Interval > 0} {
			if set {
				fail(field, "the built-in commands number their lines, and every line is checked", field+" needs a command of your own")
			}
		}
	}
	if c.KillShare+c.DisconnectShare > 1 {
		fail("disconnect_share", "", "kill_share and disconnect_share together are more than 1")
	}
	if c.Within > 0 && c.KillShare+c.DisconnectShare == 0 {
		fail("within", "give kill_share or disconnect_share", "within spreads kills and disconnects, and there are none")
	}
	if c.Protocol == "ws" && c.Codec != "" {
		fail("codec", "leave the codec out", "ws has no codec")
	}
	if c.Protocol != "ndjson" {
		return
	}
	if c.Codec == "proto" {
		fail("codec", "leave the codec out", "ndjson has no codec proto")
	}
	if c.Stdin != nil {
		fail("stdin", "use connect, grpc or grpc-web", "ndjson has no input")
	}
}
