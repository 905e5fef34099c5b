// Package archive reads one archive's file, finished or live, and compacts it into a finished
// one. It does not read the journal beside a live archive; a reader may add its contents with
// SetTail.
//
// Damage is noted with the file, and everything sound is read.
package archive
