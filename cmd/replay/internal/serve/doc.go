// Package serve is the server of replay serve: the listener and the checks around it. It opens
// the socket with the right mode, asks the kernel who connects, refuses foreign web pages and
// unknown users, limits what requests may use, and shuts down gracefully. Its callers supply the
// services as Parts.
//
// Limits has every bound: the number of connections, the simultaneous requests of each part, the
// size of a message, the time of a question, and how long a client may not read.
package serve
