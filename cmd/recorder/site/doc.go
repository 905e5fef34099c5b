// Package site puts the agent into a site's Performance Co-Pilot, and takes it away
// again: its line in pmcd.conf, its names in the name space, its directory among the
// agents', what pmlogger and pmie can be told about it.
//
// What is to be changed is worked out first, from what is there, as a list of files
// with their old and new bytes, which can be shown instead of being made. Each file is
// exchanged as a whole, and where one of them cannot be, those before it get their old
// bytes back.
//
// Doing it twice changes nothing the second time, and Remove gives back every byte: what
// was there before stands in a record beside the agent. Where others have changed a file
// meanwhile (PCP's own scripts write pmcd.conf and the name space anew and sort them),
// their work stays, and ours is taken out of it by what it says.
package site
