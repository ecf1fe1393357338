// Package service is the plugin host of the example: the handshake that the scenarios beside it
// test, correct or with one of a few bugs.
//
// It stands for the service of a reader. It imports no package of Assay, and only the example's
// program and tests import it.
package service
