// Package owner finds out whose a process is: which application, service, container, pod and
// login session it belongs to. What follows from texts alone is here, for both systems and
// without any of their calls; package proc reads those texts.
package owner

import (
	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
)

// Field is one thing that may be known of the owners of a process.
type Field int

const (
	App       Field = iota // as people call it
	Service                // job of launchd, unit of systemd
	Container              // its name, or the start of its number
	Pod                    // NAMESPACE/NAME, or its number
	Session                // "3 of anna", or a terminal
	Bundle                 // identifier of the app
	Version                // of the app
	Team                   // that signed the app
	NumFields
)

var fieldNames = [NumFields]string{
	metric.OwnerApp, metric.OwnerService, metric.OwnerContainer, metric.OwnerPod, metric.OwnerSession,
	"bundle", "version", "team",
}

// String returns the name of the label with the field's value, and the last word of its metric.
func (f Field) String() string { return fieldNames[f] }

// Owner names the owners of a process. A field that has no name has the reason for that. Many
// processes have the same Owner: a Set keeps one copy of it.
type Owner struct {
	names [NumFields]string
	why   [NumFields]metric.Reason
}

// None returns an Owner without any name, for one reason.
func None(why metric.Reason) (o Owner) {
	for f := range o.why {
		o.why[f] = why
	}
	return o
}

// longest limits a name: it may come from a file that anybody wrote.
const longest = 200

// Put sets a field. Without a name it stays as it is.
func (o *Owner) Put(f Field, name string) {
	if name != "" {
		o.names[f], o.why[f] = clean(name, longest), metric.Present
	}
}

// clean makes a text of at most so many bytes printable.
func clean(s string, most int) string { return cmdline.Printable(s[:min(len(s), most)]) }

// Miss says why a field is not known.
func (o *Owner) Miss(f Field, why metric.Reason) { o.names[f], o.why[f] = "", why }

// Get returns the value of a field, or why there is none.
func (o *Owner) Get(f Field) (name string, why metric.Reason) {
	if o.names[f] == "" && o.why[f] == metric.Present {
		return "", metric.NotRead
	}
	return o.names[f], o.why[f]
}

// Label returns the name of the owner of a kind, of metric.OwnerKinds, or "".
func (o *Owner) Label(kind string) string {
	for f, name := range fieldNames[:Bundle] {
		if name == kind {
			return o.names[f]
		}
	}
	return ""
}

// Labels returns the labels of an instance with these owners.
func (o *Owner) Labels() []metric.Label {
	var labels []metric.Label
	for _, kind := range metric.OwnerKinds {
		if name := o.Label(kind); name != "" {
			labels = append(labels, metric.Label{Name: kind, Value: name})
		}
	}
	return labels
}

// Set keeps one copy of equal Owners.
type Set struct{ all map[Owner]*Owner }

// Of returns the copy that is equal to o. Equal Owners have the same copy, until Keep has
// dropped it.
func (s *Set) Of(o Owner) *Owner {
	if p := s.all[o]; p != nil {
		return p
	}
	if s.all == nil {
		s.all = make(map[Owner]*Owner)
	}
	p := &o
	s.all[o] = p
	return p
}

// Len returns how many there are.
func (s *Set) Len() int { return len(s.all) }

// Keep drops all copies but those that used yields.
func (s *Set) Keep(used func(yield func(*Owner) bool)) {
	clear(s.all)
	for o := range used {
		if o != nil {
			s.all[*o] = o
		}
	}
}
