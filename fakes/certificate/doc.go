// Package certificate makes the certificates of gateways that serve https.
//
// What belongs here: keys and certificates. What does not: listeners and connections.
package certificate
