// Package livepage serves the page of a report while it is being recorded: the page
// itself, which holds no data, what it shows of a window, and what has come since.
//
// Whatever pages are open, a window is read once for all that ask for it within a
// while, and what has come since is made once for all that are as far: it comes from
// a follower that keeps the last minutes in memory while a page is open and visible,
// and not from the archive. A page that nobody looks at asks for nothing.
package livepage
