// Package rewrite makes finished archives: of ticks and events that a program has, and of
// other archives, finished or being written, whose ticks and events it also hands out one
// by one.
//
// What is made is like what a recorder leaves: chunks of about an hour, with sketches and
// digests, in a file that verify accepts. It is made in a scratch file and has its name
// when all of it is safe.
package rewrite
