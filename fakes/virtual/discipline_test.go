package virtual

import (
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// typed is the result of some input: the echo, the signals, and the result of each read.
type typed struct {
	echo  string
	sigs  []syscall.Signal
	reads []string
}

// typeAll feeds a discipline and then reads it empty.
func typeAll(d *discipline, input string) typed {
	var got typed
	var echo []byte
	for i := range len(input) {
		var sig syscall.Signal
		if echo, sig = d.input(input[i], echo); sig != 0 {
			got.sigs = append(got.sigs, sig)
		}
	}
	got.echo = string(echo)
	for d.readable() {
		got.reads = append(got.reads, string(d.read(100, noDelim)))
	}
	return got
}

func with(change func(m *modes)) discipline {
	d := newDiscipline()
	change(&d.mode)
	return d
}

func TestWhatIsTypedIsEditedEchoedAndRead(t *testing.T) {
	t.Parallel()
	plain := func(*modes) {}
	raw := func(m *modes) { *m &^= cookedModes }
	noEcho := func(m *modes) { *m &^= modeECHO }
	for _, row := range []struct {
		name  string
		mode  func(m *modes)
		input string
		echo  string
		reads []string
		sigs  []syscall.Signal
	}{
		{"a line is read with its newline", plain, "ab\n", "ab\r\n", []string{"ab\n"}, nil},
		{"each read gets one line", plain, "a\nb\n", "a\r\nb\r\n", []string{"a\n", "b\n"}, nil},
		{"an unfinished line is not read", plain, "ab", "ab", nil, nil},
		{"^D at the start is an end of file", plain, "\x04a\n", "a\r\n", []string{"", "a\n"}, nil},
		{"^D within a line makes it readable", plain, "ab\x04c\n", "abc\r\n", []string{"ab", "c\n"}, nil},
		{"^D twice is the line and then an end of file", plain, "ab\x04\x04", "ab", []string{"ab", ""}, nil},
		{"ERASE goes back over one character", plain, "ab\x7fc\n", "ab\b \bc\r\n", []string{"ac\n"}, nil},
		{"ERASE stops at readable text", plain, "a\x04\x7f\x7fb\n", "ab\r\n", []string{"a", "b\n"}, nil},
		{"WERASE takes a word and the blanks behind it", plain, "ab cd \x17\n", "ab cd \b \b\b \b\b \b\r\n", []string{"ab \n"}, nil},
		{"KILL takes the line", plain, "abc\x15x\n", "abc\b \b\b \b\b \bx\r\n", []string{"x\n"}, nil},
		{"KILL without echo is silent", noEcho, "abc\x15x\n", "", []string{"x\n"}, nil},
		{"LNEXT makes the next character literal", plain, "\x16\x03\x16\x7f\n", "^\b^C^\b^?\r\n", []string{"\x03\x7f\n"}, nil},
		{"without IEXTEN ^V and ^W are characters", func(m *modes) { *m &^= modeIEXTEN }, "a\x16\x17\n", "a^V^W\r\n", []string{"a\x16\x17\n"}, nil},
		{"a tab is erased to its start", plain, "a\tb\x7f\x7fc\n", "a\tb\b \b\b\b\b\b\b\b\bc\r\n", []string{"ac\n"}, nil},
		{"two tabs are erased one by one", plain, "\t\t\x7f\x7f\n", "\t\t\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\r\n", []string{"\n"}, nil},
		{"a control character takes two columns", plain, "\x01\x7f\n", "^A\b \b\b \b\r\n", []string{"\n"}, nil},
		{"ICRNL turns a return into a newline", plain, "a\r", "a\r\n", []string{"a\n"}, nil},
		{"without ICRNL a return is a character", func(m *modes) { *m &^= modeICRNL }, "a\r\n", "a^M\r\n", []string{"a\r\n"}, nil},
		{"UTF-8 is erased by characters with IUTF8", func(m *modes) { *m |= modeIUTF8 }, "é\x7fa\n", "é\b \ba\r\n", []string{"a\n"}, nil},
		{"UTF-8 is erased by bytes without it", plain, "é\x7f\n", "é\b \b\r\n", []string{"\xc3\n"}, nil},
		{"half a character is not erased", func(m *modes) { *m |= modeIUTF8 }, "\x80\x7f\n", "\x80\r\n", []string{"\x80\n"}, nil},
		{"^C is a signal and drops the line", plain, "ab\x03c\n", "ab^Cc\r\n", []string{"c\n"}, []syscall.Signal{sigINT}},
		{"^C drops unread input", plain, "ab\n\x03", "ab\r\n^C", nil, []syscall.Signal{sigINT}},
		{`^\ and ^Z are signals`, plain, "\x1c\x1a", `^\^Z`, nil, []syscall.Signal{sigQUIT, sigTSTP}},
		{"without ISIG they are characters", func(m *modes) { *m &^= modeISIG }, "\x03\n", "^C\r\n", []string{"\x03\n"}, nil},
		{"^S and ^Q are neither read nor shown", plain, "a\x13b\x11\n", "ab\r\n", []string{"ab\n"}, nil},
		{"without IXON they are characters", func(m *modes) { *m &^= modeIXON }, "\x11\n", "^Q\r\n", []string{"\x11\n"}, nil},
		{"raw input is unchanged", raw, "a\r\x03\x04\x7f", "a^M^C^D^?", []string{"a\r\x03\x04\x7f"}, nil},
		{"the end of an overlong line is lost", noEcho, strings.Repeat("a", 4095) + "bcd\n", "", nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := with(row.mode)
			got := typeAll(&d, row.input)
			if len(row.input) > 4000 {
				whole := strings.Join(got.reads, "")
				if whole != strings.Repeat("a", 4095)+"\n" {
					t.Errorf("read %d bytes ending %q", len(whole), whole[len(whole)-3:])
				}
				return
			}
			if got.echo != row.echo || !slices.Equal(got.reads, row.reads) || !slices.Equal(got.sigs, row.sigs) {
				t.Errorf("%q\n got %q\nwant %q", row.input, got, typed{row.echo, row.sigs, row.reads})
			}
		})
	}
}

func TestOutputIsProcessed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		mode func(m *modes)
		in   string
		out  string
	}{
		{"a newline returns", func(*modes) {}, "a\nb", "a\r\nb"},
		{"without ONLCR it does not", func(m *modes) { *m &^= modeONLCR }, "a\nb", "a\nb"},
		{"without OPOST nothing happens", func(m *modes) { *m &^= modeOPOST }, "a\n\r", "a\n\r"},
		{"a return that is written stays", func(*modes) {}, "a\r\n", "a\r\r\n"},
	} {
		d := with(row.mode)
		if got := string(d.output([]byte(row.in), nil)); got != row.out {
			t.Errorf("%s: %q, want %q", row.name, got, row.out)
		}
	}
}

func TestModesSwitchWithInputPending(t *testing.T) {
	t.Parallel()
	raw := func(d *discipline) {
		d.set(d.mode &^ modeICANON)
	}
	d := newDiscipline()
	typeAll(&d, "ab")
	raw(&d)
	if !d.readable() || string(d.read(10, noDelim)) != "ab" {
		t.Error("an unfinished line cannot be read in raw mode")
	}
	d.input('x', nil)
	d.set(saneModes)
	if !d.readable() || string(d.read(10, noDelim)) != "x" || d.readable() {
		t.Error("raw input is not a line in canonical mode")
	}
	for _, c := range []byte("ab\ncd\n") {
		d.input(c, nil)
	}
	if got := string(d.read(2, noDelim)); got != "ab" {
		t.Errorf("a short read is %q", got)
	}
	if got := string(d.read(100, noDelim)); got != "\n" {
		t.Errorf("the rest of the line is %q", got)
	}
	raw(&d)
	if got := string(d.read(100, noDelim)); got != "cd\n" {
		t.Errorf("in raw mode the next line is %q", got)
	}
}

// FuzzDiscipline types the same input whole and in pieces: the echo, the signals, the state and the reads must not depend on the pieces.
func FuzzDiscipline(f *testing.F) {
	for _, text := range []string{"abc\n", "a\x7f\x15\x17\n\x04", "\x16\x03\x03\x1c\x1a", "\t\x7f\té\x7f\r", "\x13a\x11\x12b\n", strings.Repeat("x", 5000) + "\n"} {
		f.Add([]byte(text), uint16(0), uint8(3))
		f.Add([]byte(text), uint16(modeIUTF8|modeICANON), uint8(1))
	}
	f.Fuzz(func(t *testing.T, input []byte, flip uint16, piece uint8) {
		feed := func(piece int) (*terminal, []byte, []syscall.Signal) {
			term := &terminal{disc: newDiscipline()}
			term.disc.mode ^= modes(flip)
			var shown []byte
			var sigs []syscall.Signal
			for part := range slices.Chunk(input, piece) {
				for len(part) > 0 {
					n, sig := term.take(part)
					if n == 0 {
						return term, shown, sigs // full
					}
					part = part[n:]
					if sig != 0 {
						sigs = append(sigs, sig)
					}
					shown = append(shown, term.echo...)
					term.echo = nil
				}
			}
			return term, shown, sigs
		}
		whole, shown, sigs := feed(len(input) + 1)
		pieces, shownP, sigsP := feed(int(piece) + 1)
		if string(shown) != string(shownP) && len(shown) < maxEcho {
			t.Errorf("echo %q in one piece, %q in pieces of %d", shown, shownP, int(piece)+1)
		}
		if !slices.Equal(sigs, sigsP) {
			t.Errorf("signals %v in one piece, %v in pieces", sigs, sigsP)
		}
		if !reflect.DeepEqual(whole.disc, pieces.disc) {
			t.Errorf("state %+v in one piece, %+v in pieces", whole.disc, pieces.disc)
		}
		read := func(d *discipline, limit int) (all []byte, ends int) {
			for steps := 0; d.readable(); steps++ {
				if steps > len(input)*2+10 {
					t.Fatal("the reads do not end")
				}
				b := d.read(limit, noDelim)
				if len(b) == 0 {
					ends++
				}
				all = append(all, b...)
			}
			return all, ends
		}
		all, ends := read(&whole.disc, 1<<20)
		allP, endsP := read(&pieces.disc, int(piece)+1)
		if string(all) != string(allP) || ends != endsP {
			t.Errorf("read %q and %d ends at once, %q and %d in short reads", all, ends, allP, endsP)
		}
	})
}
