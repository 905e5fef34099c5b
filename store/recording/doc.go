// Package recording writes archives: the Writer, the directory that it keeps
// them in, and how long they are kept there.
package recording
