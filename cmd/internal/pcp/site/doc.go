// Package site puts the agent into a site's Performance Co-Pilot, and removes it again: its
// line in pmcd.conf, its names in the name space, its directory among the agents', and its
// files for pmlogger and pmie.
//
// It first works out the changes, from the present files, as a list of files with their old and
// new bytes, which can be shown instead of being made. Each file is replaced as a whole, and if
// one cannot be replaced, those before it get their old bytes back.
//
// A second installation changes nothing, and Remove restores every byte: a record beside the
// agent has what was there before. If others have changed a file meanwhile (PCP's own scripts
// rewrite pmcd.conf and the name space and sort them), their changes stay, and ours are found
// by their content and removed.
package site
