// Package service is the recorder as a service: it puts engine, archive and
// configuration together, begins and removes archives by the clock and by size,
// hands finished ones to a command, keeps a status file up to date, and changes
// its configuration while it runs.
package service
