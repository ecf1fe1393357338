package scenarios

// checkFrame checks that an HTTP/2 frame has only the fields of its type.
func (c *checker) checkFrame(at string, f *Frame) {
	fields := map[string]struct {
		set   bool
		types []string
	}{
		"fields":    {f.Fields != nil, []string{"HEADERS", "CONTINUATION"}},
		"settings":  {f.Settings != nil, []string{"SETTINGS"}},
		"code":      {f.Code != 0, []string{"RST_STREAM", "GOAWAY"}},
		"last":      {f.Last != 0, []string{"GOAWAY"}},
		"increment": {f.Add != 0, []string{"WINDOW_UPDATE"}},
	}
	for _, name := range []string{"fields", "settings", "code", "last", "increment"} {
		field := fields[name]
		fits := false
		for _, t := range field.types {
			fits = fits || t == f.Type
		}
		if field.set && !fits {
			c.errorf(c.key(at+"/"+name), "", "a %s frame has no %s", f.Type, name)
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
