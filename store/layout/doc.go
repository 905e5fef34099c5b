// Package layout defines every record of an archive: its buckets and keys, the header, the
// descriptions of metrics, the index, the events, the totals, how far the journal has been taken
// over, and the names of the files. Each is encoded and decoded here and nowhere else.
// FORMAT.md, in package store, describes the bytes.
//
// A Builder puts records in place and counts them: for a new archive, for a commit, a compaction
// and a repair. A Visitor passes what records hold to its functions, for every reader: it checks
// and removes the checksums, limits sizes, and decodes. A record that is not as it was written
// is reported as a RecordError, which each user notes, reports or fails by.
//
// To add a record: write it down in FORMAT.md; give it its key, or its bucket in Buckets, in
// layout.go; encode it in a method of Builder; decode it in Visitor.Record and pass it to a new
// function of Visitor. Readers that need it set that function, and all others pass over it. An
// archive by an earlier writer, in which it is missing, is read as before: the function is then
// not called. A new bucket may be missing as well, so it must not be among those that VisitAll
// demands of an older archive. A record without which the archive cannot be read needs a new
// FormatVersion.
package layout
