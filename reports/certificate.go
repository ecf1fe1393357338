package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"assay/internal/record/bundle"
	"assay/reports/page"
)

// The pages of a certificate.
const (
	certificateHTML     = "certificate.html"
	certificateMarkdown = "certificate.md"
	certificateBadge    = "badge.svg"
)

// CertificatePages returns the pages of a certificate, by file name: one in HTML that needs no other file, one in
// Markdown, and a badge. Equal certificates have equal pages.
func CertificatePages(c *bundle.Certificate) (map[string][]byte, error) {
	all := map[string][]byte{}
	for name, write := range map[string]func(io.Writer, *bundle.Certificate) error{
		certificateHTML:     func(w io.Writer, c *bundle.Certificate) error { return writeHTML(w, certificateDocument(c)) },
		certificateMarkdown: func(w io.Writer, c *bundle.Certificate) error { return writeMarkdown(w, certificateDocument(c)) },
		certificateBadge:    certificateSVG,
	} {
		var b bytes.Buffer
		if err := write(&b, c); err != nil {
			return nil, err
		}
		all[name] = b.Bytes()
	}
	return all, nil
}

// levelMeans says what a level stands for.
func levelMeans(level string) string {
	switch level {
	case bundle.LevelCore:
		return "every must rule of the profile holds"
	case bundle.LevelFull:
		return "every must, should and may rule of the profile holds"
	case bundle.LevelWithLoad:
		return "every rule of the profile holds, under load and through a soak as well"
	}
	return ""
}

// productName is the vendor, the product and its version.
func productName(p bundle.Product) string {
	return line(p.Vendor + " " + p.Product + " " + p.Version)
}

// signed says who signed a certificate.
func signed(c *bundle.Certificate) string {
	if c.Signer == nil {
		return "Not signed: anybody could have written this. Only its evidence counts."
	}
	return fmt.Sprintf("Signed with the %s key %s", c.Signer.Algorithm, c.Signer.Fingerprint)
}

// testedTarget names what was tested.
func testedTarget(c *bundle.Certificate) string {
	if c.Target.Embedded {
		return "the embedded reference gateway"
	}
	return line(c.Target.URL)
}

// whatItMeans is on every certificate.
const whatItMeans = "A certificate shows what this version of the catalogue found in this run. A signature shows who vouches for it, not that the run was honest: " +
	"the evidence is in the folder, and `assay verify` derives every verdict from it again."

// certificateDocument tells what was certified: the requirements, the exceptions, the rules, and where the evidence is.
func certificateDocument(c *bundle.Certificate) *document {
	d := &document{
		kind: "Assay certificate", about: productName(c.Product), footer: strings.TrimSuffix(strings.ReplaceAll(whatItMeans, "`", ""), "."),
		verdict: verdict{look: success, word: "CERTIFIED", sentence: certifiedText(c)},
		facts: facts{
			{"product", say(productName(c.Product))}, {"page", say(c.Product.URL)}, {"contact", say(c.Product.Contact)}, {"profile", say(c.Profile + ": " + c.ProfileTitle)},
			{"tested", say(testedTarget(c))}, {"from", say(started(c.Started))}, {"to", say(started(c.Ended))},
		},
	}
	if c.Product.Description != "" {
		d.notes = []string{c.Product.Description}
	}
	if c.Signer == nil {
		d.alarm = signed(c)
	}
	met := table{title: "Requirements", columns: columns("Result", "Requirement", "Seen"), noun: "requirement"}
	for _, r := range c.Requirements {
		met.rows = append(met.rows, rowOf(badged(success, "met"), r.Title, r.Message))
	}
	except := table{title: "Exceptions", columns: columns("Kind", "What", "Why"), noun: "exception"}
	for _, e := range c.Deviations {
		except.rows = append(except.rows, rowOf("deviation", ref("", e.Rule), e.Reason))
	}
	for _, rule := range c.Advisories {
		except.rows = append(except.rows, rowOf("advisory", ref("", rule), "broken; the level does not ask for it"))
	}
	for _, f := range c.Unsupported {
		except.rows = append(except.rows, rowOf("not tested", ref("", f), "the product lacks this feature, or the run could not use it; the profile does not require it"))
	}
	rules := items{}
	for _, r := range c.Rules {
		rules.all = append(rules.all, say(ref("", r)))
	}
	evidence := facts{
		{"program", say(c.Build.Name + " " + c.Build.Version + ", commit " + cmp.Or(c.Build.Commit, "unknown"))},
		{"catalogue", sayf("%d rules, %d scenarios, %s", c.Build.Rules, c.Build.Scenarios, c.Build.Catalogue)},
		{"profile", say(c.ProfileDigest)}, {"signature", say(signed(c))},
	}
	if c.Product.Digest != "" {
		evidence = append(evidence, fact{"artefact", say(c.Product.Digest)})
	}
	d.sections = []section{
		{id: "requirements", title: met.title, count: len(met.rows), body: blockOf(len(met.rows), met)},
		{id: "exceptions", title: except.title, count: len(except.rows), body: blockOf(len(except.rows), except)},
		{id: "rules", title: "Rules that passed", count: len(c.Rules), body: blockOf(len(c.Rules), foldable{title: say(plural(len(c.Rules), "rule")), body: []block{rules}})},
		{
			id: "evidence", title: "Evidence", note: "In the folder of this certificate; checked with the public key of the vendor.",
			body: []block{evidence, command("assay verify --key vendor.pub DIR")},
		},
	}
	return d
}

// certifiedText says what was certified.
func certifiedText(c *bundle.Certificate) string {
	return fmt.Sprintf("%s: profile %s, level %s: %s", productName(c.Product), line(c.Profile), line(c.Level), levelMeans(c.Level))
}

// certificateSVG draws the badge: the program and the profile on the left, the level on the right. Text is as wide as a
// sans-serif font of 11 pixels makes it, at most.
func certificateSVG(w io.Writer, c *bundle.Certificate) error {
	const each, margin = 7, 10
	left, right := "assay "+line(c.Profile), line(c.Level)
	a, b := len([]rune(left))*each+2*margin, len([]rune(right))*each+2*margin
	title := page.Textf("%s: certified by Assay for the profile %s, level %s", productName(c.Product), line(c.Profile), line(c.Level))
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%s"><title>%s</title>`+
		`<rect width="%d" height="20" rx="3" fill="#444"/><path d="M%d 0h%d a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-%dz" fill="#1a7f37"/>`+
		`<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="%d" y="14">%s</text><text x="%d" y="14">%s</text></g></svg>`+"\n",
		a+b, title, title, a+b, a, b-3, b-3, a/2, page.Text(left), a+b/2, page.Text(right))
	return err
}

// Requirements draws requirements, those that are not met last, and counts them.
func Requirements(w io.Writer, all []bundle.Requirement, s Style) error {
	c := newCanvas(w, s)
	met := 0
	for _, r := range all {
		if r.OK {
			met++
			c.block(painted{pad("met", 10), green}, line(r.Title)+": "+line(r.Message), plain)
		}
	}
	for _, r := range all {
		switch {
		case r.OK:
		case r.Unsure:
			c.block(painted{pad("undecided", 10), yellow}, line(r.Title)+": "+line(r.Message), plain)
		default:
			c.block(painted{pad("NOT MET", 10), red}, line(r.Title)+": "+line(r.Message), plain)
		}
	}
	c.block(painted{"", plain}, fmt.Sprintf("%d of %s met", met, plural(len(all), "requirement")), plain)
	return c.err
}

// Certified draws the end of a certification.
func Certified(w io.Writer, c *bundle.Certificate, dir string, s Style) error {
	if err := Requirements(w, c.Requirements, s); err != nil {
		return err
	}
	out := newCanvas(w, s)
	out.block(painted{"CERTIFIED  ", green}, certifiedText(c)+" (exit 0)", plain)
	out.block(painted{"", plain}, signed(c), plain)
	out.block(painted{"", plain}, "in "+line(dir)+"; `assay verify "+line(dir)+"` checks it", plain)
	return out.err
}

// Refused draws the end of a certification without a certificate: as JSON, a CertificateCheck.
func Refused(w io.Writer, format string, c *bundle.CertificateCheck, dir string, s Style) error {
	if format == "json" {
		return writeJSON(w, c)
	}
	if err := Requirements(w, c.Requirements, s); err != nil {
		return err
	}
	out := newCanvas(w, s)
	out.block(painted{"NOT CERTIFIED  ", red}, fmt.Sprintf("%s: profile %s, level %s", productName(c.Product), line(c.Profile), line(c.Level)), plain)
	out.block(painted{"", plain}, "the evidence is in "+line(dir)+": `assay report "+line(dir)+"/evidence/conform` shows it", plain)
	return out.err
}

// CertificateJSON writes exactly one JSON value, of schema assay.certificate/v1.
func CertificateJSON(w io.Writer, c *bundle.Certificate) error { return writeJSON(w, c) }
