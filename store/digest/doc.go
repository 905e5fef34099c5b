// Package digest makes and reads digests. A digest sums up, over some chunks, the many
// short-lived instances of a domain, such as processes. The question who used most over a day
// concerns hundreds of thousands of them, and most were seen once.
//
// A digest has members, which have entries of their own: the instances that may have more in
// other chunks, and those that gained most of something. The others began and ended within it.
// The digest sums up those with the same title, user and owners in a crowd, and has the most
// that one of them gained. So a ranking is exact: where one of these could be in it, the chunks
// are decoded.
//
// A Whole sums up the series of everything else over all chunks of an archive, so that a question
// about a month reads one record a day.
//
// Places say in which rows of the chunks the instances are that live longer than one chunk.
//
// All are made from the chunks alone, and the chunks answer whatever they answer. FORMAT.md in the
// directory above describes the bytes.
package digest
