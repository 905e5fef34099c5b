// Package trigger watches what the recorder reads anyway, and says when a
// condition of the configuration has held long enough for something to be done.
//
// A condition is looked at when a metric in it was read, by the rules by which
// replay would find it in the archive later (store/query). For each trigger and
// instance it remembers since when it holds, and that it has been obeyed: it
// counts again only when it has ceased to hold for as long as it must hold. What
// is left of a trigger then is its cool-down and its limit of a day, which are
// about the trigger and not about instances, so that a hundred processes that run
// away together are one event.
//
// What is to be done is for others to do, and to refuse: stacks, bursts and
// commands have limits of their own. A Watcher says of each whether it was begun.
package trigger
