package target

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
)

// probeWatch watches a directory that every target has until the stream begins.
func probeWatch(ctx context.Context, c *client) findings {
	var f bundle.Feature
	for _, dir := range everyDir {
		r := c.rpcRequest(call.Text{RPC: call.FilesystemWatchDir, JSON: []byte(`{"path":"` + dir + `"}`)})
		x, _ := c.send(ctx, r)
		s := c.await(ctx, x, hasMessage)
		if conn := x.Conn(); conn != nil {
			conn.Close("fin")
		}
		if f = c.decidePage(ctx, r, x, hasMessage(s)); f.State != bundle.FeatureUnknown {
			break
		}
	}
	return findings{featWatch: f}
}

// everyDir are directories of every target: the root or, where it is not served, the home directory.
var everyDir = [...]string{"/", "."}

// probeFiles requests a directory of the files surface, with the token, without it, and signed.
func probeFiles(ctx context.Context, c *client) findings {
	r := ask(surface.Files)
	x := c.do(ctx, r)
	s := x.Snapshot()
	refuses := s.Outcome == bundle.OutcomeComplete && s.Response.Status/100 == 4 && s.Response.Status != 405 && !isAuth(s) && isFilesError(x.BodyBytes())
	f := c.decidePage(ctx, r, x, refuses)
	if f.State != bundle.FeaturePresent {
		return findings{featFiles: f, featSigned: {State: f.State, Detail: f.Detail}}
	}
	return findings{featFiles: f, featSigned: c.probeSigned(ctx, r)}
}

// isFilesError reports whether a body is an error of the files surface.
func isFilesError(body []byte) bool {
	var e struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	return json.Unmarshal(bytes.TrimSpace(body), &e) == nil && e.Message != ""
}

// probeSigned repeats a request without the token, and with a signature instead of it.
func (c *client) probeSigned(ctx context.Context, r request) bundle.Feature {
	if c.target.options.Token == "" {
		return absent("no token to sign with")
	}
	if c.target.bears() {
		return hidden(inAuthorization)
	}
	bare := *c
	bare.bare = true
	without := bare.do(ctx, r).Snapshot()
	sum := sha256.Sum256([]byte(strings.TrimPrefix(r.query, "path=") + ":read::" + c.target.options.Token))
	r.query += "&signature=" + url.QueryEscape("v1_"+base64.RawStdEncoding.EncodeToString(sum[:]))
	with := bare.do(ctx, r).Snapshot()
	switch {
	case without.Response == nil || with.Response == nil:
		return unknown("without the token: " + describe(without) + "; with a signature: " + describe(with))
	case !isAuth(without):
		return absent("a request without the token is answered: " + describe(without))
	case isAuth(with):
		return absent("a signed request is refused: " + describe(with))
	}
	return present("a signed request is answered: " + describe(with))
}

// probeExecute runs empty code.
func probeExecute(ctx context.Context, c *client) findings {
	r := ask(surface.Execute)
	x := c.do(ctx, r)
	s := x.Snapshot()
	ok := succeeded(s) && bytes.Contains(x.BodyBytes(), []byte(`"end_of_execution"`))
	return findings{featExecute: c.decidePage(ctx, r, x, ok)}
}
