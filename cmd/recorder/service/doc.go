// Package service runs the recorder as a service. It connects the engine, the archive and
// the configuration, starts and removes archives by time and by size, runs a command on
// finished ones, writes the status file, and applies a changed configuration while it runs.
package service
