package bundle

import (
	"encoding/json"
	"strconv"
	"testing"
)

// A wait is read as what it was, and prints as it was stored.
func TestAWaitIsStoredAsText(t *testing.T) {
	for text, want := range map[string]Wait{
		"end of the answer":        {Kind: WaitEnd},
		"done":                     {Kind: WaitDone},
		"head":                     {Kind: WaitHead},
		"upgrade":                  {Kind: WaitUpgrade},
		"pid":                      {Kind: WaitPID},
		"the process in a list":    {Kind: WaitListed},
		"closed":                   {Kind: WaitClosed},
		"time enough for the step": {Kind: WaitTime},
		"event end":                {Kind: WaitEvent, Of: "end"},
		`output "a \"b\"\n"`:       {Kind: WaitOutput, Of: "a \"b\"\n"},
		`a message equal to "x"`:   {Kind: WaitMessage, Of: `equal to "x"`},
		"frame RST_STREAM CANCEL":  {Kind: WaitFrame, Of: "RST_STREAM CANCEL"},
		"frames 3":                 {Kind: WaitFrames, Of: "3"},
		"bytes 20":                 {Kind: WaitBytes, Of: "20"},
		"silence 1.5s":             {Kind: WaitSilence, Of: "1.5s"},
		"anchor p.data":            {Kind: WaitAnchor, Of: "p.data"},
		"json.pid":                 {Of: "json.pid"},
		"output unquoted":          {Of: "output unquoted"},
		"heads":                    {Of: "heads"},
		"":                         {},
	} {
		var w Wait
		stored := strconv.Quote(text)
		must(t, json.Unmarshal([]byte(stored), &w))
		if w != want {
			t.Errorf("%q is %+v, want %+v", text, w, want)
		}
		if out, err := json.Marshal(w); err != nil || string(out) != stored {
			t.Errorf("%q is stored again as %s, %v", text, out, err)
		}
	}
}
