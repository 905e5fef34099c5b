// Package archive reads one archive's file, finished or live, and makes a
// finished one of what it read. What the journal of a live archive holds
// beside it is not its subject; a reader may lay that over it with SetTail.
//
// Damage is noted and goes with the file: whatever is sound is read.
package archive
