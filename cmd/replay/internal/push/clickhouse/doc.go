// Package clickhouse puts everything that is recorded into ClickHouse, over HTTP: the
// machines and their archives, the catalogue, instances, every value exactly, every
// process at each reading, events.
//
// What belongs to a process becomes a row a process and reading, with a column for
// each metric of the catalogue, in one unit for all systems. All other values are a
// row each: they are few beside these, and a question about one metric of all machines
// reads that metric only.
//
// # Once
//
// Every row has a key that says which value of the world it is: host, boot, metric,
// instance and the continuous clock, which begins with the boot and never steps. The
// file that a value was recorded in is no part of it, so that copies, cuts and merges of an archive
// bring nothing new. Tables are ReplacingMergeTrees ordered by this key: a batch that
// is sent again, because nobody heard that it had arrived, leaves rows that merges
// remove, and that FINAL does not show before they do.
//
// A batch is acknowledged when each of its inserts is, which goes to the shard
// itself and not to a queue before it (insert_distributed_sync). All rows of a host are
// on one shard, so that one that is away holds up its own hosts and no others.
//
// # Names
//
// Texts of archives travel as values of RowBinary, and never in a statement.
package clickhouse
