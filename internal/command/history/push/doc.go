// Package push sends the figures of runs to a server of metrics, by Prometheus remote write.
//
// What belongs here: the names of the series, and the request. What does not: where figures come from (package history).
package push
