package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// The evidence names the header fields that the script sets, and those of the clause that failed, and no others.
func TestTheEvidenceNamesTheFieldsThatDecide(t *testing.T) {
	legal := []scenarios.NamedMatch{{Name: "any", Match: scenarios.Match{Headers: map[string]*string{"Content-Encoding": nil}}}}
	s := scenarioOf(subjects("p", &scenarios.Match{Error: &scenarios.ErrorMatch{Code: []string{"*"}}, Any: legal}))
	for name, c := range map[string]struct {
		step scenarios.Step
		want []string
	}{
		"a header of a start":  {scenarios.Step{Start: &scenarios.Start{Headers: map[string]*string{"X-Odd": new("1")}}}, []string{"content-encoding", "x-odd"}},
		"a timeout of a start": {scenarios.Step{Start: &scenarios.Start{TimeoutMS: new(int64(200))}}, []string{"connect-timeout-ms", "content-encoding", "grpc-timeout"}},
		"a length of a send":   {scenarios.Step{Send: &scenarios.Send{ContentLength: new(int64(9))}}, []string{"content-encoding", "content-length"}},
		"a timeout of a send":  {scenarios.Step{Send: &scenarios.Send{Timeout: new("1x")}}, []string{"connect-timeout-ms", "content-encoding", "grpc-timeout"}},
		"a list":               {scenarios.Step{List: &scenarios.List{}}, []string{"content-encoding"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.step.At = "steps[0]"
			s.Steps = []scenarios.Step{c.step}
			v := judgeOne(t, s, observation(streamExchange("p")))
			if v.Evidence == nil {
				t.Fatalf("no evidence: %+v", v)
			}
			if diff := cmp.Diff(c.want, v.Evidence.Fields); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// HTTP 415 to a call whose content type the script did not choose is about its codec.
func TestARefusedCodecHasItsOwnSymptom(t *testing.T) {
	gzip := func(x *bundle.Exchange, _ *scenarios.Start) { encoded(x, "Connect-Content-Encoding") }
	for name, c := range map[string]struct {
		change func(x *bundle.Exchange, s *scenarios.Start)
		needs  []string
		want   bundle.Symptom
	}{
		"the codec of the axis": {func(*bundle.Exchange, *scenarios.Start) {}, nil, bundle.SymptomCodec},
		"another status":        {func(x *bundle.Exchange, _ *scenarios.Start) { x.Response.Status = 400 }, nil, bundle.SymptomNoStart},
		"an encoding":           {gzip, nil, bundle.SymptomNoStart},
		"a known encoding":      {gzip, []string{"compress.gzip"}, bundle.SymptomCodec},
		"gRPC":                  {func(x *bundle.Exchange, _ *scenarios.Start) { x.Protocol = "grpc" }, nil, bundle.SymptomNoStart},
		"a content type from the script": {func(_ *bundle.Exchange, s *scenarios.Start) {
			s.Headers = map[string]*string{"content-type": new("x/y")}
		}, nil, bundle.SymptomNoStart},
	} {
		t.Run(name, func(t *testing.T) {
			x := streamExchange("p")
			x.Events, x.EndStream, x.Frames, x.Outputs, x.Response.Status = nil, nil, nil, nil, 415
			start := &scenarios.Start{}
			c.change(x, start)
			s := scenarioOf(subjects("p", &scenarios.Match{Start: new(true)}))
			s.Steps, s.Needs = []scenarios.Step{{At: "steps[0]", Start: start}}, c.needs
			if v := judgeOne(t, s, observation(x)); v.Symptom != c.want {
				t.Errorf("symptom %q, want %q: %s", v.Symptom, c.want, v.Message)
			}
		})
	}
}

func encoded(x *bundle.Exchange, field string) {
	x.Request.Headers = append(x.Request.Headers, headers(field, "gzip")...)
}

// An upload that was refused is told, and not the download that found nothing.
func TestOfSeveralBreachesTheFirstIsTold(t *testing.T) {
	s := scenarioOf(subjects("down", &scenarios.Match{Status: []int{200}}))
	s.Expect[0].Subjects["up"] = &scenarios.Match{Status: []int{200}}
	up, down := unaryExchange("up"), unaryExchange("down")
	up.Response.Status, down.Response.Status = 403, 404
	for _, c := range []struct{ up, down, want string }{
		{"steps[2]", "steps[10]", "up: want HTTP 200, saw HTTP 403"},
		{"steps[1].parallel[0]", "steps[1].parallel[1]", "down: want HTTP 200, saw HTTP 404"},
	} {
		up.Step, down.Step = c.up, c.down
		wantVerdict(t, judgeOne(t, s, observation(up, down)), bundle.Fail, c.want)
	}
}
