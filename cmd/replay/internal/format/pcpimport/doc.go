// Package pcpimport converts archives of Performance Co-Pilot to archives of ours: those that
// pmlogger wrote on Linux and on macOS and, without loss, those that replay exported.
//
// A metric that our catalogue has under the same name and with the same meaning becomes ours,
// with its instance domain, class and help; its type and units stay as PCP had them, so that no
// value is converted. So do the metrics that our own agent served, wherever it put them among
// PCP's: their labels identify them. All others are kept under their names. Values that are
// neither numbers nor strings are left out, and the report says so.
//
// PCP's archives do not identify boots. kernel.all.uptime does, if it was recorded; else each
// stretch between two marks counts as a boot of its own, because no rate may be computed across
// it. The intervals of metrics are found from the times of their values.
package pcpimport
