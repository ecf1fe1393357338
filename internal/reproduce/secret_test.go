package reproduce

import (
	"strings"
	"testing"

	"assay/internal/bundle"
)

// alike are secrets of which a record keeps the same text.
func alike() []secretHeader {
	return secretHeaders([]bundle.Header{
		{Name: "Token", Value: "other"}, {Name: "x-access-token", Value: "token"},
		{Name: "X-Key", Value: "aaaaaaaa11"}, {Name: "x-key", Value: "bbbbbbbb22"}, {Name: "Plain", Value: "p"},
	}, []string{"other", "token", "aaaaaaaa11", "bbbbbbbb22"})
}

func TestEverySecretHasAVariableOfItsOwn(t *testing.T) {
	var got []string
	for _, s := range alike() {
		got = append(got, s.variable+"="+s.value)
	}
	want := "ASSAY_TOKEN_2=other ASSAY_TOKEN=token ASSAY_X_KEY=aaaaaaaa11 ASSAY_X_KEY_2=bbbbbbbb22"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestSecretsThatLookTheSameTakeTurns(t *testing.T) {
	const one = "GET / HTTP/1.1\r\nX-KEY: **********\r\nx-key: **********\r\nx-access-token: *****\r\n\r\n"
	const told = "GET / HTTP/1.1\r\nX-KEY: aaaaaaaa11\r\nx-key: bbbbbbbb22\r\nx-access-token: token\r\n\r\n"
	tests := []struct {
		name, sent, want string
		cut              int // where a second write begins, behind a pause
	}{
		{name: "in one request", sent: one, want: told},
		{name: "in two requests", sent: one + one, want: told + told},
		{name: "behind bytes whose lower case is longer", sent: "\xff\xfe\u0130" + one, want: "\xff\xfe\u0130" + told},
		{name: "with a pause between the two", sent: one, want: told, cut: strings.Index(one, "x-key")},
		{name: "at the end of the bytes", sent: "\r\nx-key: ", want: "\r\nx-key: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := sourceOf(sending([]byte(tt.sent), bundle.Exchange{}))
			if err != nil {
				t.Fatal(err)
			}
			if tt.cut > 0 {
				s.writes = []write{{data: []byte(tt.sent[:tt.cut])}, {data: []byte(tt.sent[tt.cut:]), pause: turnPause}}
			}
			text, _, err := s.request(alike())
			if err != nil {
				t.Fatal(err)
			}
			var env []string
			for _, s := range alike() {
				env = append(env, s.variable+"="+s.value)
			}
			if got := sh(t, text+"request\n", env...); got != tt.want {
				t.Errorf("it writes\n%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

func TestASecretThatWasCutHasNoScript(t *testing.T) {
	s, err := sourceOf(sending([]byte("x"), bundle.Exchange{}))
	if err != nil {
		t.Fatal(err)
	}
	s.writes = []write{{data: []byte("GET / HTTP/1.1\r\nx-key: ***")}, {data: []byte("*******\r\n\r\n")}}
	if text, _, err := s.request(alike()); err == nil {
		t.Errorf("there is one:\n%s", text)
	}
}

func TestFieldsOfCurlThatLookTheSameTakeTurns(t *testing.T) {
	next := newTurns(alike())
	var got []string
	for _, h := range []bundle.Header{{Name: "x-key", Value: "**********"}, {Name: "X-Key", Value: "**********"}, {Name: "x-key", Value: "***"}} {
		got = append(got, headerWord(h, next))
	}
	if want := `"x-key: $ASSAY_X_KEY" "X-Key: $ASSAY_X_KEY_2" 'x-key: ***'`; strings.Join(got, " ") != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}
