package scenarios

import "fmt"

// checkFrames checks that the HTTP/2 frames of a write have only the fields of their types.
func (c *checker) checkFrames(at string, list []Segment) {
	for i, s := range list {
		if s.Frame == nil {
			continue
		}
		place := fmt.Sprintf("%s/%d/frame", at, i)
		if _, ok := c.nodes[place]; !ok {
			place = at + "/frame" // a single segment
		}
		c.checkFrame(place, s.Frame)
		c.checkSegments(place+"/of", s.Frame.Of)
	}
}

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
}

// checkWSFrames checks that the WebSocket frames of a write have only the fields of their types.
func (c *checker) checkWSFrames(at string, list []Segment) {
	for i, s := range list {
		if s.WS == nil {
			continue
		}
		place := fmt.Sprintf("%s/%d/ws", at, i)
		if _, ok := c.nodes[place]; !ok {
			place = at + "/ws" // a single segment
		}
		if s.WS.Code != nil && s.WS.Type != "close" {
			c.errorf(c.key(place+"/code"), "", "a %s frame has no code", s.WS.Type)
		}
		c.checkSegments(place+"/of", s.WS.Of)
	}
}
