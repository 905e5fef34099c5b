// Package digest makes and reads digests: what the many instances of a domain
// that come and go, such as processes, came to over some chunks. Who used most
// over a day is asked of hundreds of thousands of them, and most were seen once.
//
// A digest tells by themselves, as members, the instances that may have more in
// other chunks, and those that gained most of something. The others began and
// ended within it: it tells what those came to together that have their title
// and their owner in common, and the most that one of them gained, so that a
// ranking is exact: where one of these could be in it, the chunks are decoded.
//
// It is made of the chunks alone, and whatever it answers they answer as well.
// FORMAT.md in the directory above describes the bytes.
package digest
