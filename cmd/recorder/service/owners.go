package service

import (
	"strconv"
	"sync"
	"time"

	"tachograph/sample/metric"
)

// OwnersStatus is what happened to services, containers and sessions since the recorder started.
type OwnersStatus struct {
	Came      uint64 `json:"came"`
	Went      uint64 `json:"went"`
	Restarted uint64 `json:"restarted"`
	Killed    uint64 `json:"killed"` // by the kernel, for want of memory
	Throttled uint64 `json:"throttled"`
	// Last are the latest of what is out of the ordinary: not that one came or went.
	Last []OwnerEvent `json:"last,omitempty"`
}

// OwnerEvent is something that happened to an owner.
type OwnerEvent struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// lastOwnerEvents is how many a status has.
const lastOwnerEvents = 3

// watched is an archive whose events about owners are counted on their way.
type watched struct {
	Archive
	mu     sync.Mutex
	owners OwnersStatus
}

func (w *watched) Event(list ...metric.Event) error {
	for i := range list {
		if list[i].Kind == metric.EventOwner {
			w.count(&list[i])
		}
	}
	return w.Archive.Event(list...)
}

func (w *watched) count(e *metric.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := &w.owners
	if came, err := strconv.ParseUint(e.Label(metric.OwnerCame), 10, 32); err == nil { // of many
		went, _ := strconv.ParseUint(e.Label(metric.OwnerWent), 10, 32)
		o.Came, o.Went = o.Came+came, o.Went+went
		return
	}
	switch e.Label(metric.OwnerWhat) {
	case metric.OwnerCame:
		o.Came++
		return
	case metric.OwnerWent:
		o.Went++
		return
	case metric.OwnerRestarted:
		o.Restarted++
	case metric.OwnerKilled:
		o.Killed++
	case metric.OwnerThrottled:
		o.Throttled++
	}
	o.Last = append(o.Last[max(0, len(o.Last)-lastOwnerEvents+1):len(o.Last):len(o.Last)], OwnerEvent{e.At.Time(), e.Text})
}

// status returns nil if nothing has happened to any owner.
func (w *watched) status() *OwnersStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.owners; o.Came+o.Went+uint64(len(o.Last)) > 0 {
		return &o
	}
	return nil
}
