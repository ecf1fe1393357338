package browser

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Strike strikes keys, with others such as chromedp.ModifierCtrl held, for whatever element has
// the focus. As with a keyboard, a page that prevents the default of the key gets no character from
// it; package kb of chromedp names the keys without a character.
func (p *Page) Strike(t testing.TB, keys string, held ...chromedp.Modifier) {
	t.Helper()
	for _, r := range keys {
		events := kb.Encode(r)
		down, up := *events[0], *events[len(events)-1]
		if len(events) > 2 && len(held) == 0 {
			down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
		} else if len(events) == 2 {
			down.Type = input.DispatchKeyEventTypeRawKeyDown
		}
		for _, m := range held {
			down.Modifiers |= int64(m)
			up.Modifiers |= int64(m)
		}
		command(t, p, input.DispatchKeyEvent, down)
		command(t, p, input.DispatchKeyEvent, up)
	}
}
