// Package layout is every record of an archive: its buckets and keys, the
// header, the descriptions of metrics, the index, the events, the totals, how
// far the journal has been taken over, and the names of the files. Each is
// encoded and decoded here and nowhere else.
//
// FORMAT.md, in package store, describes the bytes.
package layout
