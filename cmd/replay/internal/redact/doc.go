// Package redact replaces the names in a recording, so that its owner can give it to people who
// must not learn whose machine it is from. What explains an incident stays: rates, totals,
// lifetimes and times.
//
// A name becomes a pseudonym that shows its kind (host-4f2a, user-9c01, process-7be0). The same
// name gets the same pseudonym throughout a recording, and with a key wherever that key is used.
// Pseudonyms are HMACs: without the key it is impossible to reverse them or to test guesses.
// Well-known names that identify no person or machine (kernel_task, launchd, root, lo0) stay
// unless the caller asks for all.
//
// What is in no table is not copied: an unknown text metric, instance domain or label is dropped
// or becomes a pseudonym, and a sentence keeps only the words that the recorder itself writes.
package redact
