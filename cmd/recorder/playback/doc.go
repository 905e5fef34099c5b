// Package playback answers from archives as if the machine that they are of were live: at
// each instant with what had been read by then, at the pace at which it was read or at
// another one.
//
// Time passes as the machine's continuous clock did, which goes on in sleep and which
// nobody sets: between two readings lies what lay between them, whatever the wall clock
// was set to; between two boots it is the wall clock that tells. A value holds until its
// class would have been read three times more, as everywhere where an instant is shown.
// In a sleep, in a gap and behind the end there are no values at all, for there was
// nobody to ask; instances are those that the last reading listed.
//
// Archives are read as far as time has come, tick by tick: what is held is the last block
// of each group, and a few ticks of what metrics are computed from. Of an archive that is
// being written play-back goes on as it grows, and where it has caught up it follows.
package playback
