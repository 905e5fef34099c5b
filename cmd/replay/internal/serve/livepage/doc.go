// Package livepage serves the report as a live page: the page without data, the data of a
// window, and what was recorded since then.
//
// All pages that ask for the same window within a short time share one reading of the archive.
// New data comes from a follower that keeps the last minutes in memory while a page is open and
// visible, and is encoded once for all pages that have the same data so far. A hidden page asks
// for nothing.
package livepage
