package certify

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	predicate "github.com/in-toto/attestation/go/predicates/test_result/v0"
	attestation "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"assay/internal/record/bundle"
)

// The types of the statement.
const (
	payloadType   = "application/vnd.in-toto+json"
	predicateType = "https://in-toto.io/attestation/test-result/v0.1"
	resultPassed  = "PASSED"
)

// statement returns the in-toto statement on a certificate: a test result, whose subjects are certificate.json,
// which has the digests of all other files, and the product's artefact, if PRODUCT.yaml names its digest.
func statement(c *bundle.Certificate, text []byte) ([]byte, error) {
	subjects := []*attestation.ResourceDescriptor{described(bundle.CertificateFile, digestOf(text))}
	if c.Product.Digest != "" {
		subjects = append(subjects, described(c.Product.Vendor+"/"+c.Product.Product+" "+c.Product.Version, c.Product.Digest))
	}
	result := &predicate.TestResult{
		Result: resultPassed,
		Configuration: []*attestation.ResourceDescriptor{
			described("catalogue of "+c.Build.Name+" "+c.Build.Version, c.Build.Catalogue), described("profile "+c.Profile, c.ProfileDigest),
		},
		PassedTests: c.Rules, WarnedTests: c.Advisories,
	}
	plain, err := protojson.Marshal(result)
	if err != nil {
		return nil, err
	}
	fields := &structpb.Struct{}
	if err := protojson.Unmarshal(plain, fields); err != nil {
		return nil, err
	}
	s := &attestation.Statement{Type: attestation.StatementTypeUri, Subject: subjects, PredicateType: predicateType, Predicate: fields}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	out, err := protojson.Marshal(s)
	if err != nil {
		return nil, err
	}
	var stable any // protojson varies its spaces
	if err := json.Unmarshal(out, &stable); err != nil {
		return nil, err
	}
	out, err = json.MarshalIndent(stable, "", "  ")
	return append(out, '\n'), err
}

func described(name, digest string) *attestation.ResourceDescriptor {
	return &attestation.ResourceDescriptor{Name: name, Digest: map[string]string{"sha256": strings.TrimPrefix(digest, "sha256:")}}
}

// envelope signs a statement.
func envelope(ctx context.Context, payload []byte, k *Key) ([]byte, error) {
	signer, err := dsse.NewEnvelopeSigner(k)
	if err != nil {
		return nil, err
	}
	e, err := signer.SignPayload(ctx, payloadType, payload)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(e, "", "  ")
	return append(text, '\n'), err
}

// opened returns the payload of an envelope that a key signed.
func opened(ctx context.Context, text []byte, k *Key) ([]byte, error) {
	var e dsse.Envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("it is no envelope: %w", err)
	}
	if len(e.Signatures) != 1 {
		return nil, fmt.Errorf("it has %d signatures, want one", len(e.Signatures))
	}
	if e.PayloadType != payloadType {
		return nil, fmt.Errorf("its payload is a %.80q, want %s", e.PayloadType, payloadType)
	}
	verifier, err := dsse.NewEnvelopeVerifier(k)
	if err != nil {
		return nil, err
	}
	_, payload, err := verifier.VerifyAndDecode(ctx, &e)
	if err != nil {
		return nil, errors.New("it is not signed by the key " + k.signer.Fingerprint)
	}
	// Several texts stand for the same bytes in base64: only one of them was written.
	sig, err := base64.StdEncoding.DecodeString(e.Signatures[0].Sig)
	if err != nil {
		return nil, err
	}
	again, err := json.MarshalIndent(dsse.Envelope{
		PayloadType: payloadType, Payload: base64.StdEncoding.EncodeToString(payload),
		Signatures: []dsse.Signature{{KeyID: k.signer.Fingerprint, Sig: base64.StdEncoding.EncodeToString(sig)}},
	}, "", "  ")
	if err != nil || !bytes.Equal(append(again, '\n'), text) {
		return nil, errors.New("it was edited beside what is signed")
	}
	return payload, nil
}
