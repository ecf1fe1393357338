package h2

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
)

// TypeName returns the name of a frame type, or its number in hexadecimal.
func TypeName(t http2.FrameType) string {
	if t <= http2.FrameContinuation {
		return t.String()
	}
	return fmt.Sprintf("0x%02x", byte(t))
}

// ParseType returns the frame type with a name, in any case, or number.
func ParseType(name string) (http2.FrameType, error) {
	for t := http2.FrameData; t <= http2.FrameContinuation; t++ {
		if strings.EqualFold(t.String(), name) {
			return t, nil
		}
	}
	n, err := strconv.ParseUint(name, 0, 8)
	if err != nil {
		return 0, fmt.Errorf("no HTTP/2 frame type %q: write its name (HEADERS, DATA …), its number, or preface", name)
	}
	return http2.FrameType(n), nil
}

// ParseSetting returns the setting with a name, in any case and with or without
// SETTINGS_, or number.
func ParseSetting(name string) (http2.SettingID, error) {
	short := strings.TrimPrefix(strings.ToUpper(name), "SETTINGS_")
	for id := http2.SettingHeaderTableSize; id <= http2.SettingNoRFC7540Priorities; id++ {
		if id.String() == short {
			return id, nil
		}
	}
	n, err := strconv.ParseUint(name, 0, 16)
	if err != nil {
		return 0, fmt.Errorf("no HTTP/2 setting %q: write its name (MAX_CONCURRENT_STREAMS) or its number", name)
	}
	return http2.SettingID(n), nil
}

// CodeName returns the name of an error code, or its number in hexadecimal.
func CodeName(c http2.ErrCode) string {
	if c <= http2.ErrCodeHTTP11Required {
		return c.String()
	}
	return fmt.Sprintf("0x%x", uint32(c))
}
