package rewrite

import "tachograph/sample/metric"

// A Mapping changes what is copied: names, texts, events. It must always change the same input
// in the same way, or else instances would come apart. Several goroutines call it.
type Mapping interface {
	// Host maps the description of the machine.
	Host(metric.Host) metric.Host
	// Boot maps the ID of a boot.
	Boot(id string) string
	// Zone maps the name of the time zone.
	Zone(name string) string
	// Config maps the recorder's configuration, TOML.
	Config(toml string) string
	// Instance maps the key, name and labels of an instance. It must not change its argument.
	// Two keys of a domain must not become one.
	Instance(indom string, in *metric.Instance) *metric.Instance
	// Text maps a value of a string metric; in is nil if the metric has but one value. If keep
	// is false, the value is absent, with the reason Redacted.
	Text(d *metric.Desc, in *metric.Instance, s string) (mapped string, keep bool)
	// Maps reports whether Number changes values of a numeric metric. There are many numbers, so
	// Number is called for these metrics only.
	Maps(d *metric.Desc) bool
	// Number maps a value of such a metric; if keep is false, the value is absent, too.
	Number(d *metric.Desc, bits uint64) (mapped uint64, keep bool)
	// Reason maps the reason why a value is absent, which can be the text of an error. It is
	// called for absent values only.
	Reason(metric.Reason) metric.Reason
	// Desc maps the words in a metric's description; it must leave the rest of it unchanged.
	Desc(*metric.Desc) *metric.Desc
	// Event maps an event; if keep is false, the event is left out.
	Event(metric.Event) (mapped metric.Event, keep bool)
}

// Redacted is the reason given for a value that a Mapping did not keep.
var Redacted = metric.ReasonFor("redacted")
