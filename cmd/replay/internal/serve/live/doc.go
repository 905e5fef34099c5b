// Package live keeps the present values of all metrics, and sends any number of subscribers
// their changes. A Hub follows the archive that is being written while it has users: each tick
// is copied once, into a State that never changes again, and is handed to all. No subscriber
// waits for another: the last few steps are kept in a ring, and a subscriber that is slower
// continues from the latest.
package live
