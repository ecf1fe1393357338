// Package client starts processes of a soak besides its streams, by connect-go: for work that needs more than one
// call, and for probes. What does not belong here: checks of what comes back, and streams by the thousand (load).
package client
