package h2

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/wire"
)

// Every frame is compared with the one that the Framer of x/net writes.
func TestFramesAreThoseOfTheFramer(t *testing.T) {
	block := bytes.Repeat([]byte("block"), 5)
	for name, tt := range map[string]struct {
		got  []byte
		want func(f *http2.Framer) error
	}{
		"SETTINGS without parameters": {AppendSettings(nil), func(f *http2.Framer) error { return f.WriteSettings() }},
		"SETTINGS": {
			AppendSettings(nil, http2.Setting{ID: http2.SettingEnablePush}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}),
			func(f *http2.Framer) error {
				return f.WriteSettings(http2.Setting{ID: http2.SettingEnablePush}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
			},
		},
		"WINDOW_UPDATE": {AppendWindowUpdate(nil, 7, 1<<30), func(f *http2.Framer) error { return f.WriteWindowUpdate(7, 1<<30) }},
		"RST_STREAM":    {AppendReset(nil, 9, http2.ErrCodeCancel), func(f *http2.Framer) error { return f.WriteRSTStream(9, http2.ErrCodeCancel) }},
		"GOAWAY":        {AppendGoAway(nil, 3, http2.ErrCodeNo), func(f *http2.Framer) error { return f.WriteGoAway(3, http2.ErrCodeNo, nil) }},
		"DATA":          {AppendData(nil, 1, []byte("data"), false), func(f *http2.Framer) error { return f.WriteData(1, false, []byte("data")) }},
		"the last DATA": {AppendData(nil, 1, nil, true), func(f *http2.Framer) error { return f.WriteData(1, true, nil) }},
		"HEADERS in one frame": {Block{Stream: 1, Fields: block, EndStream: true}.Append(nil, len(block)), func(f *http2.Framer) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndStream: true, EndHeaders: true})
		}},
		"HEADERS and CONTINUATION": {Block{Stream: 1, Fields: block, EndStream: true}.Append(nil, 10), func(f *http2.Framer) error {
			return errors.Join(
				f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:10], EndStream: true}),
				f.WriteContinuation(1, false, block[10:20]), f.WriteContinuation(1, true, block[20:]))
		}},
		"HEADERS without fields": {Block{Stream: 5}.Append(nil, 10), func(f *http2.Framer) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 5, EndHeaders: true})
		}},
	} {
		var want bytes.Buffer
		if err := tt.want(http2.NewFramer(&want, nil)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(tt.got, want.Bytes()) {
			t.Errorf("%s: got %x, want %x", name, tt.got, want.Bytes())
		}
	}
}

func TestAHeaderIsReadAsItIsWritten(t *testing.T) {
	h := http2.FrameHeader{Length: 1<<24 - 1, Type: 0xab, Flags: 0xcd, StreamID: 1<<31 - 2}
	if got := ParseHeader(AppendHeader(nil, h)); got != h {
		t.Errorf("got %v, want %v", got, h)
	}
	written := h
	written.StreamID |= reserved
	if b := AppendHeader(nil, written); b[5]&0x80 == 0 || ParseHeader(b) != h {
		t.Errorf("the reserved bit is not written, or not ignored: %x", b)
	}
}

func TestAFrameOverTheLimitIsRefusedByItsHeader(t *testing.T) {
	p := AppendData(nil, 1, []byte("1234"), false)
	p = AppendHeader(p, http2.FrameHeader{Length: 5, StreamID: 3})
	for step := 1; step <= len(p); step++ {
		s := Splitter{Limit: 4}
		var frames int
		var err error
		for piece := range slices.Chunk(p, step) {
			if err == nil {
				err = s.Feed(piece, func(Cut) bool { frames++; return true })
			}
		}
		var over *TooLongError
		if !errors.As(err, &over) || over.Off != 13 || over.Length != 5 || over.StreamID != 3 || frames != 1 {
			t.Errorf("in steps of %d: %d frames, then %v", step, frames, err)
		}
	}
}

func TestASplitterStopsWhenItIsToldTo(t *testing.T) {
	p := bytes.Repeat(AppendSettings(nil), 3)
	s, frames := Splitter{}, 0
	if err := s.Feed(p, func(Cut) bool { frames++; return frames < 2 }); err != nil || frames != 2 || s.Off() != 2*HeaderLen {
		t.Errorf("%d frames up to %d, %v", frames, s.Off(), err)
	}
}

func TestNamesAndNumbersAreRead(t *testing.T) {
	for name, want := range map[string]http2.FrameType{"DATA": 0, "continuation": 9, "0x0b": 11, "255": 255} {
		if got, err := ParseType(name); err != nil || got != want {
			t.Errorf("type %s: %v, %v", name, got, err)
		}
	}
	for name, want := range map[string]http2.SettingID{
		"MAX_CONCURRENT_STREAMS": 3, "settings_enable_push": 2, "NO_RFC7540_PRIORITIES": 9, "0xf000": 0xf000,
	} {
		if got, err := ParseSetting(name); err != nil || got != want {
			t.Errorf("setting %s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "0x100", "DATAS"} {
		if _, err := ParseType(name); err == nil {
			t.Errorf("%q is accepted as a type", name)
		}
	}
	if _, err := ParseSetting("65536"); err == nil {
		t.Error("65536 is accepted as a setting")
	}
	for got, want := range map[string]string{
		TypeName(http2.FrameGoAway): "GOAWAY", TypeName(10): "0x0a", CodeName(http2.ErrCodeCancel): "CANCEL", CodeName(14): "0xe",
	} {
		if got != want {
			t.Errorf("named %s, want %s", got, want)
		}
	}
}

func TestFieldsAreEncodedWithoutTheDynamicTable(t *testing.T) {
	fields := []wire.Field{
		{Name: ":method", Value: "POST"}, {Name: ":method", Value: "BREW"}, {Name: ":status", Value: "401"}, {Name: ":path", Value: "/"},
		{Name: "authorization", Value: "Bearer " + strings.Repeat("x", 300)}, {Name: "x-new", Value: ""}, {Name: "x-new", Value: "é"},
	}
	block := EncodeFields(fields...)
	if use := UseOfTable(block); use != NoTable {
		t.Errorf("the block uses the table: %d", use)
	}
	if block[0] != 0x83 {
		t.Errorf(":method POST is encoded as %#x, not as entry 3 of the static table", block[0])
	}
	d := hpack.NewDecoder(4096, nil)
	for range 2 {
		var got []wire.Field
		d.SetEmitFunc(func(f hpack.HeaderField) { got = append(got, wire.Field{Name: f.Name, Value: f.Value}) })
		if _, err := d.Write(block); err != nil || !slices.Equal(got, fields) {
			t.Errorf("decoded %v, %v", got, err)
		}
	}
}

func TestStaticFieldsAreInTheStaticTable(t *testing.T) {
	for f := range static {
		if b := EncodeFields(f); len(b) != 1 || b[0] < 0x80 {
			t.Errorf("%v is encoded as %x", f, b)
		}
	}
}

func TestASmallerTableIsSaidOnce(t *testing.T) {
	var table FieldTable
	table.Limit(defaultTable)
	if got := table.Block([]byte{0x82}); len(got) != 1 {
		t.Errorf("an update was sent for the default size: %x", got)
	}
	table.Limit(100)
	table.Limit(0)
	first, second := table.Block([]byte{0x82}), table.Block([]byte{0x82})
	table.Limit(50)
	third := table.Block([]byte{0x82})
	if fmt.Sprintf("%x %x %x", first, second, third) != "2082 82 82" {
		t.Errorf("sent %x, %x and %x", first, second, third)
	}
}

func TestUseOfTable(t *testing.T) {
	var inserted bytes.Buffer
	if err := hpack.NewEncoder(&inserted).WriteField(hpack.HeaderField{Name: ":path", Value: "/commands"}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		block []byte
		want  TableUse
	}{
		"nothing":                            {nil, NoTable},
		"an indexed static field":            {[]byte{0x80 | 61}, NoTable},
		"an indexed dynamic field":           {[]byte{0x80 | 62}, ReadsTable},
		"a literal under a static name":      {[]byte{0x0f, 61 - 15, 1, 'x'}, NoTable},
		"a literal under a dynamic name":     {[]byte{0x1f, 62 - 15, 1, 'x'}, ReadsTable},
		"a literal with its name":            {[]byte{0x00, 1, 'a', 1, 'x'}, NoTable},
		"an added field":                     {inserted.Bytes(), ChangesTable},
		"an added field after a dynamic one": {append([]byte{0x80 | 62}, inserted.Bytes()...), ChangesTable},
		"a new size of the table":            {[]byte{0x20}, ChangesTable},
		"a truncated name":                   {[]byte{0x00, 5, 'a'}, ChangesTable},
		"a truncated value":                  {[]byte{0x00, 1, 'a', 5, 'x'}, ChangesTable},
		"a truncated integer":                {[]byte{0x0f}, ChangesTable},
		"an endless integer":                 {[]byte{0x0f, 0x80, 0x80, 0x80, 0x80, 0x80, 1}, ChangesTable},
	} {
		if got := UseOfTable(tt.block); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// FuzzSplitter: the division of the bytes does not change frames and errors, and the
// frames add up to the bytes.
func FuzzSplitter(f *testing.F) {
	f.Add(bytes.Repeat(AppendData(AppendSettings(nil), 1, []byte("data"), true), 3), 7)
	f.Add(AppendHeader(nil, http2.FrameHeader{Length: 1 << 20}), 1)
	f.Fuzz(func(t *testing.T, in []byte, step int) {
		split := func(step int) (out []byte, s Splitter, err error) {
			s.Limit = DefaultMaxFrame
			for piece := range slices.Chunk(in, step) {
				err = s.Feed(piece, func(c Cut) bool {
					if c.Off != int64(len(out)) {
						t.Errorf("a frame at %d is reported at %d", len(out), c.Off)
					}
					out = c.Frame().Append(out)
					return true
				})
				if err != nil {
					return out, s, err
				}
			}
			return out, s, nil
		}
		whole, ws, werr := split(max(1, len(in)))
		parts, ps, perr := split(max(1, step))
		if !bytes.Equal(whole, parts) || fmt.Sprint(werr) != fmt.Sprint(perr) {
			t.Fatalf("in one: %x, %v; in steps of %d: %x, %v", whole, werr, step, parts, perr)
		}
		if werr == nil && (len(whole)+ws.Partial() != len(in) || ws.Partial() != ps.Partial()) || !bytes.HasPrefix(in, whole) {
			t.Errorf("%x became %x and %d bytes of a frame", in, whole, ws.Partial())
		}
	})
}

// FuzzUseOfTable: a decodable block that is reported as leaving the table alone does
// so: it means the same when decoded again, and adds nothing.
func FuzzUseOfTable(f *testing.F) {
	f.Add([]byte{0x82, 0x00, 1, 'a', 1, 'x'})
	f.Add([]byte{0x40, 1, 'a', 1, 'x', 0x80 | 62})
	f.Fuzz(func(t *testing.T, block []byte) {
		if UseOfTable(block) != NoTable {
			return
		}
		d := hpack.NewDecoder(4096, func(hpack.HeaderField) {})
		if _, err := d.DecodeFull(block); err != nil {
			return
		}
		if _, err := d.DecodeFull([]byte{0x80 | 62}); err == nil {
			t.Errorf("%x has added a field", block)
		}
	})
}
