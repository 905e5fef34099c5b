// Package pcplive answers PCP's tools with the present values of a followed archive. It
// implements the Metrics of pcpserve: values come from a live.Hub, and the list of metrics from
// what archives say about themselves.
//
// A value is given as long as it is current. A class of metrics that has missed three readings,
// and at least five seconds, is not: the recorder was stopped, hangs, or the machine slept. Its
// metrics then give PM_ERR_AGAIN, until the next reading. Values that are read once or seldom
// are current as long as anything is read: a quarter of an hour without any reading means that
// the recording has ended.
package pcplive
