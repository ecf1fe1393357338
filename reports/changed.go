package reports

import (
	"fmt"
	"io"

	"assay/internal/record/bundle"
)

// changedBody lists the verdicts that differ from the stored ones.
func changedBody(changes []bundle.Change) []block {
	if len(changes) == 0 {
		return []block{say("Nothing changed: every verdict equals the stored one.")}
	}
	list := items{short: 20}
	for _, ch := range changes {
		where := "the run as a whole"
		if ch.Scenario != "" {
			where = ch.Scenario + "  " + ch.Axes.String()
		}
		list.all = append(list.all, say(ref("rule", ch.Rule), ": ", had(ch.Before), " → ", had(ch.After), "  ", faintly(where), ": ", ch.Message))
	}
	return []block{say(strongly(plural(len(changes), "verdict") + " changed")), list}
}

// had returns the conclusion, or "none".
func had(c bundle.Conclusion) part {
	if c == "" {
		return faintly("none")
	}
	return verdictOf(c)
}

// Verification draws the result of `assay verify`: one line for a valid bundle, otherwise
// each problem, the verdicts that the evidence does not support, and the conclusion.
func Verification(w io.Writer, v *bundle.Verification, s Style) error {
	c := newCanvas(w, s)
	if cert := v.Certificate; cert != nil {
		if len(cert.Requirements) > 0 {
			if err := Requirements(w, cert.Requirements, s); err != nil {
				return err
			}
		}
		c.row(c.text(fmt.Sprintf("certificate of %s, profile %s, level %s", productName(cert.Product), line(cert.Profile), line(cert.Level))))
		c.block(painted{"", plain}, signatureText(cert), plain)
	}
	for _, p := range v.Problems {
		c.block(painted{pad(line(string(p.Kind)), 12), red}, p.Message, plain)
	}
	if len(v.Changed) > 0 {
		(&textReport{canvas: c}).blocks("", changedBody(v.Changed))
	}
	if v.Underivable > 0 {
		c.block(painted{"note  ", yellow}, plural(v.Underivable, "verdict")+" could not be derived again: the evidence was not kept", plain)
	}
	if !v.OK {
		c.block(painted{"INVALID  ", red}, fmt.Sprintf("%s: %s (exit 1)", line(v.Bundle), plural(len(v.Problems), "problem")), plain)
		return c.err
	}
	said := fmt.Sprintf("%s: %s of %s match the manifest", line(v.Bundle), plural(v.Files, "file"), bundle.Megabytes(v.Bytes))
	if v.Certificate != nil {
		said = fmt.Sprintf("%s: %s of %s are those of the certificate", line(v.Bundle), plural(v.Files, "file"), bundle.Megabytes(v.Bytes))
	}
	if v.Kind != bundle.KindLoad && v.Kind != bundle.KindSoak {
		said += fmt.Sprintf(", and the evidence yields the same %s", plural(v.Verdicts, "verdict"))
	}
	c.block(painted{"VALID  ", green}, said+" (exit 0)", plain)
	return c.err
}

// signatureText says who signed a certificate, and how far that was checked.
func signatureText(c *bundle.CertificateCheck) string {
	switch {
	case c.Signature == "":
		return "its signature could not be checked"
	case c.Trusted:
		return "signed with the given key, " + line(c.Signature)
	case c.Signature == "unsigned":
		return "not signed: anybody could have written it"
	}
	return "signed with its own key, " + line(c.Signature) + ": --key checks that it is the vendor's"
}

// VerificationJSON writes exactly one JSON value, of schema assay.verification/v1.
func VerificationJSON(w io.Writer, v *bundle.Verification) error { return writeJSON(w, v) }
