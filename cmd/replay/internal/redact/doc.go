// Package redact takes the names out of what a machine recorded, so that a
// recording can be handed to somebody who must not learn whose it is, and
// leaves what explains an incident: rates, totals, lives, times.
//
// A name becomes a pseudonym that keeps its kind readable (host-4f2a,
// user-9c01, process-7be0) and is the same for the same name throughout a
// recording; with a key, wherever that key is used. Pseudonyms are HMACs: who
// has no key can neither turn them back nor try names out. What is well known
// and identifies nobody (kernel_task, launchd, root, lo0) stays, unless all is
// asked for.
//
// Nothing passes that nobody has thought of: a text metric, an instance domain
// or a label that is in no table here is dropped or becomes a pseudonym, and of
// sentences only those words stay that the recorder itself writes.
package redact
