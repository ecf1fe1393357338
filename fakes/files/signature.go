package files

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"
)

// The operations that a signature allows.
const (
	OperationRead  = "read"
	OperationWrite = "write"
)

// The errors of signed requests, in the words of the daemon: the SDK compares them.
var (
	errSignatureMissing = &statusError{http.StatusUnauthorized, "missing signature query parameter"}
	errSignatureInvalid = &statusError{http.StatusUnauthorized, "invalid signature"}
	errSignatureExpired = &statusError{http.StatusUnauthorized, "signature is already expired"}
	errTokenWrong       = &statusError{http.StatusUnauthorized, "access token present in header but does not match"}
	errTokenMissing     = &statusError{http.StatusUnauthorized, "unauthorized access, please provide a valid access token or method signing if supported"}
)

// Grant is what a signed URL claims: one operation on one path for one user, as
// they stand in the query.
type Grant struct {
	Path, Operation, Username string
	// Expiration is when the grant ends, in seconds since 1970; nil is never.
	Expiration *int64
	Signature  string
	// Token is the access token of the sandbox, with which it must be signed.
	Token string
}

// Sign returns the signature that a grant must have.
func (g Grant) Sign() string {
	plain := g.Path + ":" + g.Operation + ":" + g.Username + ":" + g.Token
	if g.Expiration != nil {
		plain += ":" + strconv.FormatInt(*g.Expiration, 10)
	}
	sum := sha256.Sum256([]byte(plain))
	return "v1_" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// Check reports what is wrong with a grant.
func (g Grant) Check(now time.Time) error {
	switch {
	case g.Signature == "":
		return errSignatureMissing
	case subtle.ConstantTimeCompare([]byte(g.Signature), []byte(g.Sign())) == 0:
		return errSignatureInvalid
	case g.Expiration != nil && *g.Expiration < now.Unix():
		return errSignatureExpired
	default:
		return nil
	}
}
