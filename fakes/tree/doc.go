// Package tree describes the file tree of one sandbox: the operations that the
// file surfaces need, and what an entry and a change look like.
//
// Package virtual implements a [Tree] in memory and package osproc one of real
// files; package files serves it. Nothing here knows a protocol, and no code
// here touches a file.
package tree
