// Package terminal is the page with a terminal that the reference gateway serves at /terminal.
// Its script is a client of the stdio surface (docs/stdio.md) of the same gateway.
//
// It contains the page, its style and scripts, and the packages xterm and addon-fit from npm,
// unchanged. It knows no gateway: who mounts it names the features that the stdio surface has.
// Its policy allows the files of the page and connections to their server, and nothing else: no
// inline script, no inline style, no other host.
package terminal
