// Package clickhouse pushes everything that is recorded to ClickHouse, over HTTP: machines and
// their archives, the catalogue, instances, every exact value, every process at each reading,
// and events.
//
// The values of a process are one row for each reading, with a column for each metric of the
// catalogue, in one unit for all systems. Every other value is a row of its own: there are few
// of these in comparison, and a query for one metric of all machines reads only that metric.
//
// # Once
//
// Every row has a key that identifies its value: host, boot, metric, instance and the continuous
// clock, which begins with the boot and never steps. The file that a value was recorded in is no
// part of the key, so copies, cuts and merges of an archive add nothing new. Tables are
// ReplacingMergeTrees ordered by this key. A batch may be sent again, because its
// acknowledgement was lost; its duplicate rows are removed by merges, and until then FINAL hides
// them.
//
// A batch is acknowledged when each of its inserts is. An insert goes to the shard itself and
// not to a queue before it (insert_distributed_sync). All rows of a host are on one shard, so a
// shard that is down holds up only its own hosts.
//
// # Names
//
// Texts from archives are sent as values in RowBinary, and never as part of a statement.
package clickhouse
