// Package browser opens pages in a headless Chromium, for tests of the HTML that the program writes.
//
// What lives here: the search for a Chromium, its start and end, the actions of a reader (click, type, a narrow window, a
// dark scheme, a printer, no scripts), the record of everything that a page must not do (an error, a request, a breach of
// its content security policy, a dialog), and the accessibility rules of axe-core. What may not: anything of the house but
// testkit; and it is imported by tests alone.
//
// A machine without a Chromium skips the tests, unless CI is set. CHROME_BIN names another one than those in the path.
package browser
