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
