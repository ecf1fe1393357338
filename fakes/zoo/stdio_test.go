package zoo

import (
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"assay/fakes/gatewaytest"
)

func TestEveryVariantServesStdio(t *testing.T) {
	t.Parallel()
	for _, v := range Variants() {
		t.Run(v.ID, func(t *testing.T) {
			g := startGateway(t, Options{Variants: []string{v.ID}})
			ctx := gatewaytest.Deadline(t)
			c, _, err := websocket.Dial(ctx, g.AttachURL()+"?cmd=echo&arg=up", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.CloseNow() }()
			c.SetReadLimit(-1)
			var got []string
			output := "\x01"
			for {
				kind, data, err := c.Read(ctx)
				if err != nil {
					got = append(got, websocket.CloseStatus(err).String())
					break
				}
				if code, ended := exitOf(data); ended {
					data = []byte("exit " + strconv.Itoa(code))
					got = append(got, output)
				} else if kind == websocket.MessageBinary {
					output += string(data[1:])
					continue
				}
				got = append(got, string(data))
			}
			if text := strings.Join(got, "|"); text != "\x01up\n|exit 0|StatusNormalClosure" {
				t.Errorf("%q", text)
			}
		})
	}
}
