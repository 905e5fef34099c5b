// Package playback answers from archives as if their machine were live. At each instant it
// answers with what had been read by then. It plays at the original speed or at another.
//
// Time follows the continuous clock of the machine, which runs during sleep and cannot be
// set. Between two boots, where that clock starts again, the wall clock decides. A value
// holds until its class has missed three readings. During sleep, in a gap and after the
// end there are no values. The instances are those of the last reading.
//
// Playback reads archives tick by tick and keeps only the last block of each group and a
// few ticks for computed metrics. It follows an archive that is still being written.
package playback
