// Package rewrite makes finished archives, from ticks and events that a program has or from
// other archives, finished or being written. It also yields the ticks and events of archives one
// by one.
//
// A new archive is like one that a recorder leaves: chunks of about an hour, with sketches and
// digests, in a file that verify accepts. It is made in a scratch file, and gets its name when
// all of it is safe.
package rewrite
