// Package report reads the diagnostic reports that macOS 12 to 27 (and 11, in its older texts) writes
// about crashes, hangs, kills for lack of memory, exceeded limits, panics, forced resets and stalled
// shutdowns. [Parse] returns the facts of one report, a [Folder] finds the reports that are new, and
// [ExitReason] and [ExitDetail] put into words why the kernel or the system ended a process.
//
// A report may be written by anybody: a user owns the folder of their own reports. So each look
// costs a bounded amount whatever the files contain: a file is read up to a length that depends on
// its kind, through a buffer of 32 KB; texts are cut and made printable; numbers of a file never
// decide how much is allocated; a folder's links are not followed.
//
// The package returns facts and makes no sentences. What describes the person rather than the
// fault is left out: application-specific texts, user numbers, keys of the machine, host names.
package report
