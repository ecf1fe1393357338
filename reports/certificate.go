package reports

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"assay/internal/bundle"
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
		certificateHTML: certificatePage, certificateMarkdown: certificateText, certificateBadge: badge,
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

func certificatePage(w io.Writer, c *bundle.Certificate) error {
	b := page.Verdict{
		Tone: page.Good, Symbol: "✓", Word: "CERTIFIED", Kicker: "Assay certificate",
		Sentence: fmt.Sprintf("%s: profile %s, level %s: %s.", productName(c.Product), line(c.Profile), c.Level, levelMeans(c.Level)),
		Facts: []page.Fact{
			{Name: "Vendor", Value: page.Text(line(c.Product.Vendor))}, {Name: "Product", Value: page.Text(line(c.Product.Product + " " + c.Product.Version))},
			{Name: "Page", Value: page.Text(line(c.Product.URL))}, {Name: "Contact", Value: page.Text(line(c.Product.Contact))},
			{Name: "Profile", Value: page.Textf("%s: %s", line(c.Profile), line(c.ProfileTitle))}, {Name: "Tested", Value: page.Text(testedTarget(c))},
			{Name: "From", Value: page.Text(started(c.Started))}, {Name: "To", Value: page.Text(started(c.Ended))},
		},
	}
	if c.Signer == nil {
		b.Alarm = signed(c)
	}
	if c.Product.Description != "" {
		b.Below = page.El("p", nil, page.Text(line(c.Product.Description)))
	}
	return page.Write(w, page.Document{
		Title: "Assay certificate: " + productName(c.Product),
		Body: page.Banner(b) + page.Layout(requirementSection(c), exceptionSection(c), ruleList(c), evidenceSection(c)) +
			page.Footer(page.Text(strings.ReplaceAll(whatItMeans, "`", ""))),
	})
}

func requirementSection(c *bundle.Certificate) page.Section {
	var rows []page.Row
	for _, r := range c.Requirements {
		rows = append(rows, page.Row{Cells: []page.HTML{page.Badge(page.Good, "✓", "met"), page.Text(line(r.Title)), page.Text(cut(line(r.Message), mostShort))}})
	}
	return page.Section{
		ID: "requirements", Title: "Requirements", Count: strconv.Itoa(len(rows)),
		Body: page.Table("Requirements", []page.Column{{Title: "Result"}, {Title: "Requirement"}, {Title: "Seen"}}, rows),
	}
}

func exceptionSection(c *bundle.Certificate) page.Section {
	var rows []page.Row
	for _, d := range c.Deviations {
		rows = append(rows, page.Row{Cells: []page.HTML{page.Text("deviation"), page.Name(line(d.Rule)), page.Text(cut(line(d.Reason), mostShort))}})
	}
	for _, rule := range c.Advisories {
		rows = append(rows, page.Row{Cells: []page.HTML{page.Text("advisory"), page.Name(line(rule)), page.Text("broken; the level does not ask for it")}})
	}
	for _, f := range c.Unsupported {
		rows = append(rows, page.Row{Cells: []page.HTML{page.Text("not tested"), page.Name(line(f)), page.Text("the product lacks this feature, or the run could not use it; the profile does not require it")}})
	}
	s := page.Section{ID: "exceptions", Title: "Exceptions", Count: strconv.Itoa(len(rows))}
	if len(rows) > 0 {
		s.Body = page.Table("Exceptions", []page.Column{{Title: "Kind"}, {Title: "What"}, {Title: "Why"}}, rows)
	}
	return s
}

func ruleList(c *bundle.Certificate) page.Section {
	var names []page.HTML
	for _, r := range c.Rules[:min(len(c.Rules), mostRuleRows)] {
		names = append(names, page.El("li", nil, page.Name(line(r))))
	}
	return page.Section{
		ID: "rules", Title: "Rules that passed", Count: strconv.Itoa(len(c.Rules)),
		Body: page.Details(nil, false, page.Textf("%s", plural(len(c.Rules), "rule")), page.El("ul", nil, names...)),
	}
}

func evidenceSection(c *bundle.Certificate) page.Section {
	commit := c.Build.Commit
	if commit == "" {
		commit = "unknown"
	}
	facts := []page.Fact{
		{Name: "Program", Value: page.Text(line(c.Build.Name + " " + c.Build.Version + ", commit " + commit))},
		{Name: "Catalogue", Value: page.Textf("%d rules, %d scenarios, %s", c.Build.Rules, c.Build.Scenarios, line(c.Build.Catalogue))},
		{Name: "Profile", Value: page.Text(line(c.ProfileDigest))},
		{Name: "Signature", Value: page.Text(signed(c))},
	}
	if c.Product.Digest != "" {
		facts = append(facts, page.Fact{Name: "Artefact", Value: page.Text(line(c.Product.Digest))})
	}
	return page.Section{
		ID: "evidence", Title: "Evidence", Note: "In the folder of this certificate; checked with the public key of the vendor.",
		Body: page.Facts(facts) + page.Command("assay verify --key vendor.pub DIR"),
	}
}

func certificateText(w io.Writer, c *bundle.Certificate) error {
	var b strings.Builder
	printf := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	printf("# Certificate: %s\n\n", escaped(productName(c.Product)))
	printf("Certified for the profile **%s** (%s), level **%s**: %s.\n\n%s\n\n", escaped(c.Profile), escaped(c.ProfileTitle), escaped(c.Level), levelMeans(c.Level), escaped(signed(c)))
	if c.Product.Description != "" {
		printf("> %s\n\n", escaped(c.Product.Description))
	}
	printf("| | |\n|---|---|\n")
	for _, f := range [][2]string{
		{"Vendor", c.Product.Vendor}, {"Product", c.Product.Product + " " + c.Product.Version}, {"Page", c.Product.URL}, {"Contact", c.Product.Contact},
		{"Tested", testedTarget(c)}, {"From", started(c.Started)}, {"To", started(c.Ended)}, {"Program", c.Build.Name + " " + c.Build.Version + " " + c.Build.Commit},
		{"Catalogue", c.Build.Catalogue},
	} {
		printf("| %s | %s |\n", f[0], escaped(f[1]))
	}
	printf("\n## Requirements\n\n| | requirement | seen |\n|---|---|---|\n")
	for _, r := range c.Requirements {
		printf("| met | %s | %s |\n", escaped(r.Title), escaped(cut(line(r.Message), mostShort)))
	}
	if len(c.Deviations)+len(c.Advisories)+len(c.Unsupported) > 0 {
		printf("\n## Exceptions\n\n")
		for _, d := range c.Deviations {
			printf("- deviation %s: %s\n", escaped(d.Rule), escaped(d.Reason))
		}
		for _, rule := range c.Advisories {
			printf("- advisory %s: broken; the level does not ask for it\n", escaped(rule))
		}
		for _, f := range c.Unsupported {
			printf("- not tested %s: the profile does not require it\n", escaped(f))
		}
	}
	printf("\n%s\n", whatItMeans)
	return writePage(w, b.String())
}

// badge draws the badge: the program and the profile on the left, the level on the right. Text is as wide as a
// sans-serif font of 11 pixels makes it, at most.
func badge(w io.Writer, c *bundle.Certificate) error {
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
	out.block(painted{"CERTIFIED  ", green}, fmt.Sprintf("%s: profile %s, level %s: %s (exit 0)", productName(c.Product), line(c.Profile), c.Level, levelMeans(c.Level)), plain)
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
