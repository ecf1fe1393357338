package engine

import "testing"

func TestCredentialsAreKnownByTheirNames(t *testing.T) {
	for name, want := range map[string]bool{
		"envdAccessToken": true, "X-Access-Token": true, "apiKey": true, "0.traffic_token": true,
		"x-next-token": false, "nextToken": false, "next_token": false, "sandboxID": false, "tokens": false,
	} {
		if got := credential(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
