// Package serve is the server of replay serve: one listener and what stands
// around it. It opens the socket so that nobody connects before its mode is right,
// asks the kernel who connects, keeps browsers and strangers out, bounds what
// requests may take, and ends gracefully. What it serves are Parts, which others
// give it; it knows none of them.
//
// A request costs memory only within bounds that are stated in Limits: so many
// connections, so many requests at once of each part, so many bytes of a message,
// so long for a question, and so long for a client that does not read.
package serve
