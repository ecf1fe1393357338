package scenarios

import "slices"

// checkFrame checks that an HTTP/2 frame has only the fields of its type.
func (c *checker) checkFrame(at string, f *Frame) {
	for _, field := range []struct {
		name  string
		set   bool
		types []string
	}{
		{"fields", f.Fields != nil, []string{"HEADERS", "CONTINUATION"}},
		{"settings", f.Settings != nil, []string{"SETTINGS"}},
		{"code", f.Code != 0, []string{"RST_STREAM", "GOAWAY"}},
		{"last", f.Last != 0, []string{"GOAWAY"}},
		{"increment", f.Add != 0, []string{"WINDOW_UPDATE"}},
	} {
		if field.set && !slices.Contains(field.types, f.Type) {
			c.errorf(c.key(at+"/"+field.name), "", "a %s frame has no %s", f.Type, field.name)
		}
	}
	c.checkSegments(at+"/of", f.Of)
}

// checkWSFrame checks that a WebSocket frame has only the fields of its type.
func (c *checker) checkWSFrame(at string, f *WSFrame) {
	if f.Code != nil && f.Type != "close" {
		c.errorf(c.key(at+"/code"), "", "a %s frame has no code", f.Type)
	}
	c.checkSegments(at+"/of", f.Of)
}
