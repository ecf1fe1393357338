package files_test

import (
	"net/url"
	"testing"
	"time"

	"assay/fakes/files"
)

// The signatures were computed by hand from the formula, with the token "secret".
const (
	readF      = "v1_uaeCTXgEOrleoetcfkke/xFIIcNehrWFVLf2V/4h7z4" // f:read::secret
	readF2100  = "v1_VyigbvFOuc6sY20rcN/QDieUyi0kSp/H0NwYgBX/xkA" // f:read::secret:4102444800
	readFZero  = "v1_jO9Bje53gT3dsH8bna0Q5UM7OC/r9PqALOR4vej9rqY" // f:read::secret:0
	readFMinus = "v1_H0y7Ay/MMug1yUAqJQjyAdSsLR2nh2iKHRSB46Se8PU" // f:read::secret:-5
	readFUser  = "v1_Hq5izycKZ7+/Bd0SujUdUAN8EobDmqyqIOSlqz6FGwE" // f:read:user:secret
	writeF     = "v1_Q9BuO3ii3Wqi1LO2nKpJWbguiwG0Hi6ulqqnE1diyKI" // f:write::secret
	writeAny   = "v1_JCyAJPTnXGsDlmQriXLwWd7jJjjtTfInABmuIz0+Piw" // :write::secret
)

func TestTheTokenOrASignatureOpensAFile(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{token: "secret"})
	g.put(home+"/f", "x")
	sign := func(s string) string { return "&signature=" + url.QueryEscape(s) }
	const (
		missing, invalid = "missing signature query parameter", "invalid signature"
		expired, other   = "signature is already expired", "access token present in header but does not match"
	)
	for _, c := range []struct {
		name, query, token, refused string
	}{
		{"the token", "", "secret", ""},
		{"the token beside a wrong signature", sign("v1_x"), "secret", ""},
		{"another token", "", "other", other},
		{"another token beside a good signature", sign(readF), "other", other},
		{"nothing", "", "", missing},
		{"an empty signature", "&signature=", "", missing},
		{"a signature for ever", sign(readF), "", ""},
		{"a signature until 2100", sign(readF2100) + "&signature_expiration=4102444800", "", ""},
		{"a signature until 0", sign(readFZero) + "&signature_expiration=0", "", expired},
		{"a signature until before 1970", sign(readFMinus) + "&signature_expiration=-5", "", expired},
		{"an expiration that is not signed", sign(readF) + "&signature_expiration=4102444800", "", invalid},
		{"an expiration that is missing", sign(readF2100), "", invalid},
		{"an expiration that was changed", sign(readF2100) + "&signature_expiration=4102444801", "", invalid},
		{"the signature of a user", sign(readFUser) + "&username=user", "", ""},
		{"a user who is not signed", sign(readF) + "&username=user", "", invalid},
		{"the signature of an upload", sign(writeF), "", invalid},
		{"padding", sign(readF + "="), "", invalid},
	} {
		var headers []string
		if c.token != "" {
			headers = []string{"X-Access-Token: " + c.token}
		}
		a := g.do("GET", at("f")+c.query, "", headers...)
		if c.refused == "" && a.StatusCode != 200 || c.refused != "" && a.body != `{"code":401,"message":"`+c.refused+`"}`+"\n" {
			t.Errorf("%s: %d %s, want %q", c.name, a.StatusCode, a.body, c.refused)
		}
	}
	if a := g.do("GET", at("./f")+sign(readF), ""); a.StatusCode != 401 {
		t.Errorf("another spelling of the path: %d", a.StatusCode)
	}
}

func TestASignedUploadWritesOnlyTheSignedPath(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{token: "secret"})
	body, kind := form(`name="file"; filename="b"`, "x")
	sign := func(s string) string { return "signature=" + url.QueryEscape(s) }
	if a := g.do("POST", "/files?path=f&"+sign(writeF), body, kind); a.StatusCode != 200 || g.content(home+"/f") != "x" || g.exists(home+"/b") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := g.do("POST", "/files?"+sign(writeAny), body, kind); a.StatusCode != 200 || g.content(home+"/b") != "x" {
		t.Errorf("a signature for any file: %d %s", a.StatusCode, a.body)
	}
	if a := g.do("POST", "/files?"+sign(writeF), body, kind); a.StatusCode != 401 {
		t.Errorf("a signature of another path: %d", a.StatusCode)
	}
	compose := `{"source_paths":["f"],"destination":"g"}`
	if a := g.do("POST", "/files/compose?path=f&"+sign(writeF), compose, "Content-Type: application/json"); a.StatusCode != 401 || g.exists(home+"/g") {
		t.Errorf("compose with a signature: %d", a.StatusCode)
	}
	if a := g.do("POST", "/files/compose", compose, "Content-Type: application/json", "X-Access-Token: secret"); a.StatusCode != 200 {
		t.Errorf("compose with the token: %d %s", a.StatusCode, a.body)
	}
}

func TestWithoutSignedURLsOnlyTheTokenCounts(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{token: "secret"}, func(o *files.Options) { o.Without = []string{files.FeatureSigned} })
	g.put(home+"/f", "x")
	if a := g.do("GET", at("f")+"&signature="+url.QueryEscape(readF), ""); a.StatusCode != 401 {
		t.Errorf("%d", a.StatusCode)
	}
}

func TestAGrantIsValidUntilTheEndOfItsSecond(t *testing.T) {
	t.Parallel()
	at := int64(1000)
	g := files.Grant{Path: "f", Operation: files.OperationRead, Token: "secret", Expiration: &at}
	g.Signature = g.Sign()
	if err := g.Check(time.Unix(1000, 999)); err != nil {
		t.Error(err)
	}
	if g.Check(time.Unix(1001, 0)) == nil {
		t.Error("it is valid a second later")
	}
}
