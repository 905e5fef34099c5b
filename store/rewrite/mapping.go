package rewrite

import "tachograph/sample/metric"

// A Mapping changes what is copied: names, texts, events. The same is changed into the
// same throughout, or else instances would come apart. It is asked by several goroutines.
type Mapping interface {
	// Host is what is said of the machine.
	Host(metric.Host) metric.Host
	// Boot is the ID of a boot.
	Boot(id string) string
	// Zone is the name of the time zone.
	Zone(name string) string
	// Config is the recorder's configuration, TOML.
	Config(toml string) string
	// Instance is what is said of an instance: its key, name and labels. What it is given
	// is not to be changed. Two keys of a domain must not become one.
	Instance(indom string, in *metric.Instance) *metric.Instance
	// Text is a value of a metric of strings; in is nil where the metric has but one. What is
	// not kept is absent, with the reason Redacted.
	Text(d *metric.Desc, in *metric.Instance, s string) (mapped string, keep bool)
	// Maps reports whether Number changes values of a metric of numbers: they are many, so
	// that it is asked about those alone.
	Maps(d *metric.Desc) bool
	// Number is a value of such a metric; what is not kept is absent, too.
	Number(d *metric.Desc, bits uint64) (mapped uint64, keep bool)
	// Reason is why a value is absent, which can be the text of an error; it is asked about
	// those that are.
	Reason(metric.Reason) metric.Reason
	// Desc is what is said of a metric in words; all else of it stays.
	Desc(*metric.Desc) *metric.Desc
	// Event is an event; one that is not kept is left out.
	Event(metric.Event) (mapped metric.Event, keep bool)
}

// Redacted is why a text is absent that a Mapping has not kept.
var Redacted = metric.ReasonFor("redacted")
