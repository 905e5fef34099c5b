// Package trigger evaluates the conditions of the configuration on the ticks that are
// recorded, and reports when a condition has held long enough.
//
// A Watcher evaluates a condition whenever one of its metrics was read, with the rules
// that replay find uses on archives (store/query). It remembers for each trigger and
// instance since when the condition holds and whether it was reported. It reports it
// again only after the condition has stopped holding for as long as it must hold. The
// cool-down and the daily limit apply to the trigger and not to its instances, so that a
// hundred runaway processes are one event.
//
// The Actions act on a report or refuse to: stacks, bursts and commands have limits of
// their own, and return an error when they refuse.
package trigger
