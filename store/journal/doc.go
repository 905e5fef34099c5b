// Package journal keeps the records since the archive's last commit: a file beside the archive
// that gets every tick, event and change of catalogue or configuration with one plain write
// each, so that what was accepted outlives the process whatever kills it.
//
// Such a file is small because each record is coded against all that the file
// held before: one adaptive model of the whole recording, in which a cell that
// never moves costs nothing and one that moves costs about the surprise in its
// movement. A file can therefore be read only from its beginning, and a
// recorder begins a new one (a generation) every few seals. A reader that needs only the
// system's rows, or only those of processes, leaves the others undecoded (Later).
package journal
