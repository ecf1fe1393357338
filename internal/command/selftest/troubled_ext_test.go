package selftest_test

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assay/fakes/zoo"
	"assay/internal/target"
	"assay/internal/testkit"
	"assay/suites"
)

// troubled is a run against a gateway of the zoo that is in trouble, or behind something that is.
type troubled struct {
	like, selection string
	profile         string // "" is full
	scale           float64
	exit            int
	fair            int    // another exit code that is fair: a target that answers so rarely may leave something unjudged
	cannot          string // why the run cannot begin; "" if it can
	nightly         bool
}

// A gateway in trouble is blamed for the rules that its deviations break, and for nothing else. A run that cannot begin says why,
// and blames nothing.
func TestAGatewayInTroubleIsBlamedForThatAlone(t *testing.T) {
	const mortalArea = "process.exit.*,process.start.*,process.input.*,coppice.kill-races-exit,stdio.exit.*"
	const plain = ",axis:connect/json/1.1/identity"
	for name, c := range map[string]troubled{
		"late":                      {like: "answers-after-300ms", selection: "process.exit.codes,process.list.*,health.*" + plain, scale: testkit.Slowdown},
		"very late":                 {like: "answers-after-20s", selection: "process.exit.codes" + plain, scale: 5 * testkit.Slowdown, nightly: true},
		"too late":                  {like: "answers-after-20s", scale: 0.1, cannot: "respond"},
		"never":                     {like: "never-accepts", scale: 0.1, cannot: "it accepts connections but does not respond"},
		"JSON for all":              {like: "catch-all-json", scale: testkit.Slowdown, cannot: "the process service is not below this URL"},
		"a page for all":            {like: "catch-all-page", scale: testkit.Slowdown, cannot: "this is a web page or a proxy error, not RPC"},
		"a page for the rest":       {like: "page-beside", profile: "connect", selection: "process.exit.codes,connect.route.*,connect.unary.*" + plain, scale: testkit.Slowdown},
		"a limit of 25":             {like: "limit-25", selection: "process.exit.codes,process.list.*,connect.unary.*" + plain, scale: testkit.Slowdown, fair: 5},
		"a limit of 5":              {like: "limit-5", selection: "process.exit.codes,connect.unary.not-found" + plain, scale: testkit.Slowdown, fair: 5},
		"dying, and started again":  {like: "dies-on-late-input-restarted", selection: mortalArea, scale: testkit.Slowdown, exit: 1},
		"dying of a command, again": {like: "dies-on-unknown-program-restarted", selection: mortalArea, scale: testkit.Slowdown, exit: 1},
		"dying for good":            {like: "dies-on-late-input", selection: mortalArea, scale: testkit.Slowdown, exit: 1},
		"a mute socket":             {like: "mute-stdio", profile: "stdio", scale: 0.3 * testkit.Slowdown, exit: 1}, // it waits for nothing that comes
		"a proxy":                   {like: "proxy-502", selection: "process.exit.codes,process.list.*,connect.unary.*,connect.error.*", scale: testkit.Slowdown, exit: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.nightly && os.Getenv("ASSAY_NIGHTLY") == "" {
				t.Skip("takes minutes: ASSAY_NIGHTLY=1 runs it")
			}
			out, err := tested(t, zoo.Options{Like: c.like}, suites.Options{Target: target.Options{TimeScale: c.scale}, Profile: cmp.Or(c.profile, "full"), Select: c.selection})
			if c.cannot != "" {
				c.isUnreachable(t, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, cause := range out.Report.Causes {
				got[cause.Rule] = true
			}
			if diff := gocmp.Diff(defects(t, c.like), got); diff != "" || out.Report.Exit != c.exit && out.Report.Exit != cmp.Or(c.fair, c.exit) {
				t.Errorf("exit code %d, want %d; causes (-want +got):\n%s%+v", out.Report.Exit, c.exit, diff, out.Report.Causes)
			}
		})
	}
}

func (c troubled) isUnreachable(t *testing.T, err error) {
	t.Helper()
	var unreachable *target.UnreachableError
	if !errors.As(err, &unreachable) || !strings.Contains(unreachable.Reason, c.cannot) {
		t.Errorf("%v, want %q", err, c.cannot)
	}
}
