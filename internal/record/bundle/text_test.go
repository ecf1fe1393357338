package bundle

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAStorableObservationIsReadBackAsItWas(t *testing.T) {
	const latin1 = "caf\xe9\xff"
	o := sampleObservation("a.b")
	it := &o.Iterations[0]
	it.Vars = map[string]string{"v": latin1, latin1: "v"}
	x := &it.Exchanges[0]
	x.Detail = latin1
	x.Response = &Response{Reason: latin1, Headers: []Header{{Name: latin1, Value: latin1}}}
	x.EndStream = &EndStream{Metadata: map[string][]string{latin1: {"a", latin1}}}
	x.Error = &RPCError{Message: latin1}
	x.Body = &Blob{Data: []byte(latin1), Len: int64(len(latin1))}
	Storable(o)
	text, err := encode(o, "")
	if err != nil {
		t.Fatal(err)
	}
	var back Observation
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o, &back); diff != "" {
		t.Errorf("stored and read again:\n%s", diff)
	}
	if x.Response.Reason != "caf\ufffd\ufffd" || string(x.Body.Data) != latin1 {
		t.Errorf("reason %q, body %q", x.Response.Reason, x.Body.Data)
	}
}
