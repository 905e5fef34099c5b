// Package pmda answers PCP with metrics of this machine. It implements pcpserve.Metrics by
// reading on demand, from the tables and sources that recording uses.
//
// Package demand does the reading. This package adds the list of metrics and its changes,
// computed metrics, and the one setting that PCP may change: whose threads are read.
package pmda
