package virtual

import "strings"

// plainWords splits text that is one simple command of literal words: no expansion, no operator, and only quotes '…' or "…" without special characters.
// It bypasses the parser for the most common scripts; in doubt ok is false and the parser decides.
func plainWords(text string) (words []string, ok bool) {
	for i := 0; i < len(text); {
		switch text[i] {
		case ' ', '\t':
			i++
		case '\n':
			if strings.Trim(text[i:], " \t\n") != "" {
				return nil, false
			}
			i = len(text)
		default:
			word, n, ok := plainWord(text[i:])
			if !ok {
				return nil, false
			}
			words = append(words, word)
			i += n
		}
	}
	return words, len(words) > 0
}

// plainWord reads one word at the start of text and returns its length in text.
func plainWord(text string) (word string, n int, ok bool) {
	var b strings.Builder
	for n < len(text) {
		switch c := text[n]; {
		case c == ' ' || c == '\t' || c == '\n':
			return b.String(), n, true
		case c == '\'' || c == '"':
			inner, _, closed := strings.Cut(text[n+1:], string(c))
			if !closed || strings.IndexByte(inner, 0) >= 0 || c == '"' && strings.ContainsAny(inner, "$`\\") {
				return "", 0, false
			}
			b.WriteString(inner)
			n += len(inner) + 2
		case isPlain(c):
			b.WriteByte(c)
			n++
		default:
			return "", 0, false
		}
	}
	return b.String(), n, true
}

// isPlain reports bytes without special meaning anywhere in a word.
func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_./:,@%+-=", c) >= 0
}

// bypass runs a script without the shell if it is one plain command of a program: while it idles, there is no goroutine, parser or variable of a shell.
func (sh *shell) bypass(text string) (code int, done bool) {
	words, ok := plainWords(text)
	if !ok || strings.ContainsRune(words[0], '=') || isReserved(words[0]) || findBuiltin(words[0]) != nil {
		return 0, false
	}
	t := &task{p: sh.p, args: words, env: sh.env, dir: sh.dir, depth: sh.depth + programDepth}
	return t.exec(sh.name + ": 1: "), true
}

// isReserved reports words that are reserved in command position, in either shell.
func isReserved(word string) bool {
	switch word {
	case "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in", "time", "function", "select", "coproc", "let", "declare", "typeset", "nameref":
		return true
	}
	return false
}
