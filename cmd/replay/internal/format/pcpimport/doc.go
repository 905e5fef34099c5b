// Package pcpimport makes archives of ours of those of Performance Co-Pilot: of what
// pmlogger wrote on Linux and on macOS, and, without loss, of what replay exported.
//
// A metric that our catalogue has under the same name and with the same meaning is
// ours, with its instance domain, class and help; its type and units stay as PCP had them, so that
// no value is converted. So is what our own agent answered for, wherever that had it
// among PCP's: its labels say what it is. All others are kept under their names. What is neither a
// number nor a string is left out, and said so.
//
// PCP's archives do not say which boot they are of. Where kernel.all.uptime was
// recorded it tells; else each stretch between two marks counts as a boot of its own,
// because nothing may be taken across. How often what was read is said by the times.
package pcpimport
