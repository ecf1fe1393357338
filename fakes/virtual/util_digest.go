package virtual

import (
	"crypto/md5" //nolint:gosec // of md5sum
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"strconv"
	"strings"
)

// fileReader reads a file for the library.
type fileReader struct {
	t *task
	f *file
}

func (r fileReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b, err := r.t.read(r.f, len(p))
	return copy(p, b), err
}

// digestProgram is md5sum [FILE]… and the like.
func digestProgram(algorithm func() hash.Hash) program {
	return func(t *task) int {
		_, names, ok := t.letters("bt")
		if !ok {
			return 1
		}
		return t.eachInput(names, func(name string, f *file) error {
			h := algorithm()
			if _, err := io.Copy(h, fileReader{t, f}); err != nil {
				return err
			}
			return t.p.write(1, []byte(hex.EncodeToString(h.Sum(nil))+"  "+name+"\n"))
		})
	}
}

var (
	md5sumProgram    = digestProgram(md5.New)    //nolint:gochecknoglobals // a function
	sha256sumProgram = digestProgram(sha256.New) //nolint:gochecknoglobals // a function
)

// base64Program is base64 [-d] [-w COLUMNS] [FILE].
func base64Program(t *task) int {
	args, decode, columns := t.args[1:], false, 76
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		value, isWidth := strings.CutPrefix(args[0], "-w")
		if isWidth && value == "" && len(args) > 1 {
			value = args[1]
			args = args[1:]
		}
		n, err := strconv.Atoi(value)
		switch {
		case args[0] == "-d" || args[0] == "-D" || args[0] == "--decode":
			decode = true
		case isWidth && err == nil && n >= 0:
			columns = n
		default:
			return t.fail("invalid option '%s'", args[0])
		}
		args = args[1:]
	}
	return t.eachInput(args, func(_ string, f *file) error {
		out := &lineWriter{g: gather{p: t.p}, columns: columns}
		if decode {
			out.columns = 0
			_, err := io.Copy(out, base64.NewDecoder(base64.StdEncoding, fileReader{t, f}))
			out.g.flush()
			if err != nil {
				return complaint("invalid input")
			}
			return out.g.err
		}
		enc := base64.NewEncoder(base64.StdEncoding, out)
		if _, err := io.Copy(enc, fileReader{t, f}); err != nil {
			return err
		}
		if err := enc.Close(); err != nil {
			return err
		}
		if out.at > 0 && columns > 0 {
			out.g.add('\n')
		}
		out.g.flush()
		return out.g.err
	})
}

// lineWriter writes lines of a length, or with 0 no lines.
type lineWriter struct {
	g           gather
	columns, at int
}

func (w *lineWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := len(rest)
		if w.columns > 0 {
			n = min(n, w.columns-w.at)
		}
		w.g.add(rest[:n]...)
		rest = rest[n:]
		if w.at += n; w.columns > 0 && w.at == w.columns {
			w.g.add('\n')
			w.at = 0
		}
	}
	return len(p), w.g.err
}
