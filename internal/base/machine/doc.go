// Package machine reads the limits and the use of resources of the machine that Assay runs on,
// and recognises errors that come from a lack of them. Such an error is never the gateway's.
//
// It holds no policy: how many streams or scenarios fit is decided by the packages that open
// them.
package machine
