// Package assay holds what the repository has at its top and the program carries: the notices
// of the software that is linked into it.
//
// Nothing else lives here: the program is cmd/assay, and CONTRIBUTING.md shows the packages.
package assay

import _ "embed" // NOTICE

// Notice is the text of NOTICE: what is linked into the program, with the licences. They want
// their text to come with every copy, also if that is one file.
//
//go:embed NOTICE
var Notice string
