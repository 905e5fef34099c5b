// Package chunk encodes the ticks of one class over some minutes, and reads them back column by
// column.
//
// A Builder collects ticks and keeps what changed. Seal turns them into a chunk: one string of
// bytes that records which instances of each group were there when, and for each metric and
// instance the first value and the changes. Values are exact. A chunk has the names of its
// instances but only the numbers of its metrics; the archive has their descriptions.
//
// A Chunk is read in parts: opening it reads a directory, and a question about one metric reads
// that metric's column. FORMAT.md in the directory above describes the bytes.
package chunk
