// Package redact replaces the names in a recording, so that its owner can hand it to
// somebody who must not learn whose it is. What explains an incident stays: rates, totals,
// lives and times.
//
// A name becomes a pseudonym that shows its kind (host-4f2a, user-9c01, process-7be0). The
// same name gets the same pseudonym throughout a recording, and with a key wherever that
// key is used. Pseudonyms are HMACs: without the key nobody can turn them back or test
// guesses. Well-known names that identify nobody (kernel_task, launchd, root, lo0) stay
// unless the caller asks for all.
//
// Whatever no table lists does not pass: an unknown text metric, instance domain or label
// is dropped or becomes a pseudonym, and a sentence keeps only the words that the recorder
// itself writes.
package redact
