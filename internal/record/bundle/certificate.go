package bundle

import "time"

// CertificateSchema names the version of the JSON form of a certificate.
const CertificateSchema = "assay.certificate/v1"

// CertificateFile is the file that makes a folder a certificate.
const CertificateFile = "certificate.json"

// ProductSchema names the version of PRODUCT.yaml.
const ProductSchema = "assay.product/v1"

// The levels of a certificate. Each includes those before it.
const (
	LevelCore     = "core"      // every must rule
	LevelFull     = "full"      // and every should rule
	LevelWithLoad = "with-load" // and load and a soak
)

// Levels lists the levels, the lowest first.
func Levels() []string { return []string{LevelCore, LevelFull, LevelWithLoad} }

// Product is what a vendor says of the certified product: PRODUCT.yaml.
type Product struct {
	Schema string `json:"schema" yaml:"schema"`
	// Vendor and Product are names, and Version is the version of the product; up to 100 characters each.
	Vendor  string `json:"vendor" yaml:"vendor"`
	Product string `json:"product" yaml:"product"`
	Version string `json:"version" yaml:"version"`
	// URL is a page about the product, https or http.
	URL string `json:"url" yaml:"url"`
	// Contact is a mail address or a URL to report a problem to.
	Contact string `json:"contact" yaml:"contact"`
	// Description is one sentence.
	Description string `json:"description,omitempty" yaml:"description"`
	// Digest is that of the tested artefact, such as a container image, as sha256:HEX.
	Digest string `json:"digest,omitempty" yaml:"digest"`
}

// Certificate is the result of a certification: certificate.json.
type Certificate struct {
	Schema  string  `json:"schema"`
	Product Product `json:"product"`
	// Profile is what the product claims to be, ProfileDigest that of the profile's text, and Level what it reached.
	Profile       string `json:"profile"`
	ProfileTitle  string `json:"profile_title"`
	ProfileDigest string `json:"profile_digest"`
	Level         string `json:"level"`
	// Build is the program that tested, with the digest of its catalogue.
	Build   Build     `json:"build"`
	Target  Target    `json:"target"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	// Requirements are all that the level asks for; in a certificate, all are met.
	Requirements []Requirement `json:"requirements"`
	// Rules are the rules that passed; Unsupported are the features that the product lacks, none of which the profile requires.
	Rules       []string `json:"rules"`
	Unsupported []string `json:"unsupported"`
	// Advisories are the should and may rules that were broken; Deviations are those that the profile allows and that were seen.
	Advisories []string    `json:"advisories"`
	Deviations []Exception `json:"deviations"`
	// Signer is the key that signs the statement; absent if it is not signed.
	Signer *Signer `json:"signer,omitempty"`
	// Files are all other files of the certificate, except the statement.
	Files []FileDigest `json:"files"`
}

// Requirement is one requirement of a level, and whether it is met.
type Requirement struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	OK    bool   `json:"ok"`
	// Message is what was seen.
	Message string `json:"message"`
	// Unsure is set if a requirement is not met because nothing could be decided.
	Unsure bool `json:"unsure,omitempty"`
}

// Exception is a rule whose breach a profile allows.
type Exception struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

// Signer is the key of a signature.
type Signer struct {
	Algorithm string `json:"algorithm"` // ed25519, ecdsa-p256
	// Fingerprint is the SHA-256 digest of the public key in its DER form (SubjectPublicKeyInfo), as sha256:HEX.
	Fingerprint string `json:"fingerprint"`
}

// CertificateCheck is the result of verifying a certificate.
type CertificateCheck struct {
	Product Product `json:"product"`
	Profile string  `json:"profile"`
	Level   string  `json:"level"`
	// Requirements are those of the level, decided again from the evidence.
	Requirements []Requirement `json:"requirements"`
	// Signature says who signed: "unsigned", or the fingerprint of the key.
	Signature string `json:"signature"`
	// Trusted is set if the signature was checked with a key that the caller gave.
	Trusted bool `json:"trusted"`
}
