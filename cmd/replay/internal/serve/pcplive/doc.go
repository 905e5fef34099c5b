// Package pcplive answers PCP's tools with how a followed archive stands: what
// pcpserve answers from, made of a live.Hub, which values come from, and of what
// archives say of themselves, which metrics come from.
//
// A value is given as long as it says how things stand. A class of metrics that has
// missed three readings, five seconds at least, says that no more: the recorder was
// stopped, hangs, or the machine slept; its metrics are then PM_ERR_AGAIN, and come
// back with the next reading. What is read once or seldom goes by whether anything is
// read: after a quarter of an hour without it, it belongs to a recording that has ended.
package pcplive
