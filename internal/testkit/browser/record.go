package browser

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"assay/internal/base/crash"
)

// record is what happened in a page that a quiet page does not do.
type record struct {
	mu       sync.Mutex
	said     []string // console, exceptions, the browser's log, breaches of the policy, dialogs
	requests []string // URLs, without the page itself
}

// event records an event. The browser sends no other event until it returns.
func (p *Page) event(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		p.say("console.%s: %s", e.Type, arguments(e.Args))
	case *runtime.EventExceptionThrown:
		p.say("exception: %s", exception(e.ExceptionDetails))
	case *log.EventEntryAdded:
		p.say("%s (%s): %s %s", e.Entry.Level, e.Entry.Source, e.Entry.Text, e.Entry.URL)
	case *audits.EventIssueAdded:
		if e.Issue.Details != nil && e.Issue.Details.ContentSecurityPolicyIssueDetails != nil {
			breach := e.Issue.Details.ContentSecurityPolicyIssueDetails
			p.say("content security policy: %s forbids %q", breach.ViolatedDirective, breach.BlockedURL)
		}
	case *page.EventJavascriptDialogOpening:
		p.say("dialog: %s %q", e.Type, e.Message)
		crash.Go(p.dismiss)
	case *network.EventRequestWillBeSent:
		p.request(e)
	}
}

// dismiss closes a dialog, which keeps the page from going on.
func (p *Page) dismiss() {
	_, _ = chromedp.Call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) // fails only if the tab is closed
}

func (p *Page) say(format string, args ...any) {
	p.record.mu.Lock()
	defer p.record.mu.Unlock()
	p.record.said = append(p.record.said, fmt.Sprintf(format, args...))
}

// request records a request, unless it is the one for the page, or none at all.
func (p *Page) request(e *network.EventRequestWillBeSent) {
	u := e.Request.URL
	page := e.Type == network.ResourceTypeDocument && string(e.RequestID) == string(e.LoaderID)
	if page || strings.HasPrefix(u, "data:") || strings.HasPrefix(u, "blob:") {
		return
	}
	p.record.mu.Lock()
	defer p.record.mu.Unlock()
	p.record.requests = append(p.record.requests, e.Request.Method+" "+u)
}

// Said returns everything that the page has logged, thrown, broken of its policy, and asked
// in dialogs.
func (p *Page) Said() []string {
	p.record.mu.Lock()
	defer p.record.mu.Unlock()
	return slices.Clone(p.record.said)
}

// Requests returns what the page has requested, as "GET URL", without the page itself.
func (p *Page) Requests() []string {
	p.record.mu.Lock()
	defer p.record.mu.Unlock()
	return slices.Clone(p.record.requests)
}

// Quiet fails the test if the page has logged or thrown anything, broken its policy, opened a
// dialog, or requested anything but what is allowed: "GET URL".
func (p *Page) Quiet(t testing.TB, allowed ...string) {
	t.Helper()
	command(t, p, runtime.Evaluate, runtime.EvaluateParams{Expression: "0"}) // what was said before has been recorded then
	for _, said := range p.Said() {
		t.Errorf("%s said %s", p.url, said)
	}
	for _, request := range p.Requests() {
		if !slices.Contains(allowed, request) {
			t.Errorf("%s requested %s", p.url, request)
		}
	}
}

// arguments formats what was given to the console.
func arguments(args []*runtime.RemoteObject) string {
	var words []string
	for _, a := range args {
		if a.Value != nil {
			words = append(words, string(a.Value))
		} else {
			words = append(words, a.Description)
		}
	}
	return strings.Join(words, " ")
}

// exception formats an exception that nobody caught.
func exception(e *runtime.ExceptionDetails) string {
	text := e.Text
	if e.Exception != nil {
		text += " " + e.Exception.Description
	}
	return fmt.Sprintf("%s (line %d)", text, e.LineNumber+1)
}
