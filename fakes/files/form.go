package files

import (
	"io"
	"mime"
	"mime/multipart"

	"connectrpc.com/connect"
)

// The limits of one form. A file costs memory for its name, in the answer too.
const (
	maxParts = 100_000
	maxNames = 16 << 20 // bytes of all file names together
)

// targetOf returns the path that a part is written to: that of the query, which is
// signed, before that of the part.
func targetOf(query, name string) string {
	if query != "" {
		return query
	}
	return name
}

// readForm writes the parts of a form that are called file. Each is committed when
// the next one begins, and the last one when the whole body has been read.
func (u *upload) readForm(body io.Reader, boundary string) error {
	u.written = []Written{}
	parts, names := multipart.NewReader(body, boundary), 0
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		if err == io.EOF { //nolint:errorlint // wrapped, it means that the closing boundary is missing
			return finish(body)
		}
		if err != nil {
			return badBody(err)
		}
		if n == maxParts {
			return problem(connect.CodeInvalidArgument, "the form has more than %d parts", maxParts)
		}
		if part.FormName() != "file" {
			continue
		}
		name, err := fileName(part)
		if err != nil && u.query == "" {
			return err
		}
		target := u.Policy.Target(u.query, name)
		if names += len(target); names > maxNames {
			return problem(connect.CodeInvalidArgument, "the file names of the form have more than %d bytes", maxNames)
		}
		if err := u.write(target, source{part}); err != nil {
			return err
		}
	}
}

// finish reads what follows a form, such as the checksum of gzip.
func finish(body io.Reader) error {
	_, err := io.Copy(io.Discard, body)
	return err
}

// fileName returns the whole file name of a part, of which net/http keeps only the
// base name.
func fileName(part *multipart.Part) (string, error) {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	name := params["filename"]
	switch {
	case err != nil:
		return "", problem(connect.CodeInvalidArgument, "the disposition of a part cannot be read: %v", err)
	case name == "":
		return "", problem(connect.CodeInvalidArgument, "a part has no file name, and the query no path")
	}
	return name, nil
}
