// Package layout is every record of an archive: its buckets and keys, the
// header, the descriptions of metrics, the index, the events, the totals, how
// far the journal has been taken over, and the names of the files. Each is
// encoded and decoded here and nowhere else. FORMAT.md, in package store,
// describes the bytes.
//
// A Builder puts records in place and counts them: for a new archive, for a
// commit, a compaction and a repair. A Visitor is told what they hold, whoever
// reads: it takes off the checksums, bounds what is believed and decodes, and
// says with a RecordError what is not as it was written, which each user notes,
// reports or fails by.
//
// To add a record: write it down in FORMAT.md; give it its key, or its bucket
// in Buckets, in layout.go; encode it in a method of Builder; decode it in
// Visitor.Record and tell it to a new function of Visitor. Those that want it
// set that function, and all others pass over it. An archive in which it may be
// missing, because an earlier writer made it, is read as before: no function is
// told of what is not there. A new bucket may be missing as well, so it must
// not be among those that VisitAll demands of an archive from before. A record
// that the archive cannot be read without is a new FormatVersion.
package layout
