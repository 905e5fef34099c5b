// Package boltread reads bbolt databases that another program may be writing, or that may be
// damaged.
//
// bbolt itself takes a file lock that a live writer does not share, maps the file into memory,
// where a truncated file is a fault and not an error, and trusts every offset it finds. This
// reader takes no lock, uses plain reads, checks every number against the file's size before it
// uses it, and goes on after damage: what is unreadable is left out and reported.
//
// # Reading beside a writer
//
// A Snapshot is the tree of one committed transaction S. From transaction S+2 on, bbolt
// overwrites pages that transaction S+1 replaced, and S+2 begins only after the meta page of
// S+1 is in the file. So whatever was read through the snapshot is sound if Changed says
// afterwards that S is still the newest transaction. Otherwise it may be a mixture, possibly
// with reports of damage that does not exist, and must be read again through a new Snapshot. (A
// writer that holds a read transaction keeps the pages of that transaction and of later ones
// from being reused.)
package boltread
