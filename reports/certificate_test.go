package reports

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
)

func certificateSample() *bundle.Certificate {
	return &bundle.Certificate{
		Schema:  bundle.CertificateSchema,
		Product: bundle.Product{Schema: bundle.ProductSchema, Vendor: "Acme Ltd", Product: "Gateway", Version: "1.2.3", URL: "https://acme.example", Contact: "a@acme.example", Description: "A gateway."},
		Profile: "e2b", ProfileTitle: "What the E2B SDKs need", ProfileDigest: "sha256:" + strings.Repeat("c", 64), Level: bundle.LevelFull,
		Build:   bundle.Build{Name: "assay", Version: "1.0.0", Commit: "0123456789", Catalogue: "sha256:" + strings.Repeat("d", 64), Rules: 700, Scenarios: 515},
		Target:  bundle.Target{URL: "http://127.0.0.1:8081"},
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Ended: time.Date(2026, 1, 2, 3, 44, 5, 0, time.UTC),
		Requirements: []bundle.Requirement{{ID: "conform.must", Title: "Every must rule holds", OK: true, Message: "642 rules passed"}},
		Rules:        []string{"process.end.exit-code"}, Unsupported: []string{"auth.token"}, Advisories: []string{},
		Deviations: []bundle.Exception{{Rule: "process.end.signal-named", Reason: "The end event has no status text."}},
		Signer:     &bundle.Signer{Algorithm: "ed25519", Fingerprint: "sha256:" + strings.Repeat("a", 64)},
	}
}

func TestThePagesOfACertificate(t *testing.T) {
	c := certificateSample()
	pages, err := CertificatePages(c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := CertificatePages(c)
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		certificateHTML:     {"Certified", "Acme Ltd Gateway 1.2.3", "level full", "642 rules passed", "deviation", "not tested", "Signed with the ed25519 key", "assay verify"},
		certificateMarkdown: {"# CERTIFIED\n\nAcme Ltd Gateway 1.2.3: profile e2b", "| met | Every must rule holds |", "| deviation | process.end.signal-named |", "| not tested | auth.token |"},
		certificateBadge:    {"<svg", "assay e2b", ">full<"},
	} {
		for _, want := range wants {
			if !strings.Contains(string(pages[name]), want) {
				t.Errorf("%s: %q is not in it:\n%s", name, want, pages[name])
			}
		}
		if !bytes.Equal(pages[name], again[name]) {
			t.Errorf("%s differs for the same certificate", name)
		}
	}
	c.Signer = nil
	if pages, err = CertificatePages(c); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{certificateHTML, certificateMarkdown} {
		if !strings.Contains(string(pages[name]), "Not signed: anybody could have written this") {
			t.Errorf("%s does not say that it is not signed", name)
		}
	}
}

// certificate.json may come from anybody.
func TestNothingInACertificateBecomesMarkup(t *testing.T) {
	c := certificateSample()
	evil := "<script>alert(1)</script> [x](javascript:alert(1)) | `id` \x1b[31m"
	c.Product = bundle.Product{Vendor: evil, Product: evil, Version: evil, URL: evil, Contact: evil, Description: evil}
	c.Profile, c.ProfileTitle, c.Level, c.Rules, c.Unsupported, c.Advisories = evil, evil, evil, []string{evil}, []string{evil}, []string{evil}
	c.Requirements, c.Deviations = []bundle.Requirement{{Title: evil, Message: evil, OK: true}}, []bundle.Exception{{Rule: evil, Reason: evil}}
	pages, err := CertificatePages(c)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		for _, bad := range []string{"<script>alert", "[x](", "\x1b"} {
			if strings.Contains(string(text), bad) && (bad != "[x](" || name == certificateMarkdown) {
				t.Errorf("%s has %q", name, bad)
			}
		}
	}
}

func TestARefusalNamesWhatIsMissing(t *testing.T) {
	var b bytes.Buffer
	err := Refused(&b, "text", &bundle.CertificateCheck{
		Product: certificateSample().Product, Profile: "e2b", Level: "full", Requirements: []bundle.Requirement{
			{Title: "One", OK: true, Message: "a"}, {Title: "Two", Message: "b"}, {Title: "Three", Message: "c", Unsure: true},
		},
	}, "out", Style{Width: 60})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"met       One: a", "NOT MET   Two: b", "undecided Three: c", "1 of 3 requirements met", "NOT CERTIFIED  Acme Ltd Gateway 1.2.3"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in it:\n%s", want, b.String())
		}
	}
}
