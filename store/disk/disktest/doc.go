// Package disktest is a file layer for tests. It works on real files below a
// directory, keeps a log of every operation, makes operations fail on request,
// and rebuilds the directory as a crash at any point of the log may leave it.
//
// # What a crash leaves
//
// A Panic is a crash of the kernel: data that a Barrier or Sync of its file
// covered is there. A PowerCut empties the drive's cache as well: only what was
// covered before the last Sync of any file is surely there; of what barriers
// covered since, a beginning is there, in the barriers' order. Of everything
// else any part may be there: none, all, some writes, some sectors of some
// writes, or only the file's new length. Truncations are not overtaken by
// later writes to the same file. Names that were created, renamed or removed
// survive if SyncDir of their directory covered them; of the rest a beginning
// survives, in order.
//
// # bbolt
//
// bbolt writes to its file itself. What it wrote is found by comparing the
// file before and after each commit, and logged in bbolt's order: growth and
// its sync, the data pages, a sync, the meta page, a sync.
package disktest
