// Package live keeps how things stand, and tells any number of subscribers how
// they move. A Hub follows the archive that is being written while somebody needs
// it: each tick is copied once, into a State that never changes again, and handed
// to all. Nobody waits for anybody: the last few steps are kept in a ring, and
// who is slower than that goes on from the latest.
package live
