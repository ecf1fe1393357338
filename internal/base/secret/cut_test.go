package secret

import "testing"

func TestTheBeginningOfASecretIsOverwrittenWhereATextIsCut(t *testing.T) {
	r := New([]string{"sk-very-secret-token-4711"})
	r.Add("another-one-0815")
	for text, want := range map[string]string{
		"the name sk-very":                             "the name *******",
		"the name sk-v":                                "the name ****",
		"the name sk-":                                 "the name sk-", // too short to tell
		"the name sk-very, really":                     "the name sk-very, really",
		"in base64: c2stdmVyeS1z":                      "in base64: ************",
		"in hex: 736b2d7665":                           "in hex: **********",
		"added: another-":                              "added: ********",
		"all of sk-very-secret-token-4711 and sk-very": "all of ************************* and *******",
		"": "",
	} {
		if got := r.Cut(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got := (*Redactor)(nil).Cut("x"); got != "x" {
		t.Errorf("without secrets: %q", got)
	}
}
