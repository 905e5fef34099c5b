package journal

import (
	"fmt"
	"time"

	"tachograph/sample/metric"
)

// Kind is the kind of a record.
type Kind uint8

// These numbers are written to journals: append, never renumber.
const (
	KindTick Kind = iota
	KindEvent
	KindDescribe
	KindConfig
	KindCopy
	// KindLate is a late tick. Journals hold it as a copy, see Encoder.Late.
	KindLate
	numKinds
)

// Config is a change of the effective configuration.
type Config struct {
	Text       string
	Intervals  metric.Intervals
	Sync, Seal time.Duration
}

// Record is one thing that a journal holds. Which field is set depends on Kind.
type Record struct {
	Seq   uint64
	Kind  Kind
	Tick  *metric.Tick
	Event *metric.Event
	Descs []*metric.Desc
	Conf  *Config
	Copy  *Copy
	// Later is set if the rows of Tick are left for later: its blocks have a group and a stamp, and
	// no rows.
	Later *Later
}

// An Encoder turns records into the bodies of frames. Its output depends on everything it has
// written since it was made or Reset.
type Encoder struct {
	s      *state
	broken error
	// For late ticks; late is nil until there is one.
	late       *state
	brokenLate error
}

// NewEncoder makes an encoder at the beginning of a generation.
func NewEncoder() *Encoder { return &Encoder{s: newHalves()} }

// Reset begins a new generation.
func (e *Encoder) Reset() {
	e.s.reset()
	e.broken = nil
	e.late, e.brokenLate = nil, nil
}

// Full reports that a new generation should begin: because the present one is half way to a
// limit, or because nothing can be added to it.
func (e *Encoder) Full() bool {
	return e.broken != nil || e.brokenLate != nil || e.s.full() || e.late != nil && e.late.full()
}

// full is Full for one model.
func (s *state) full() bool {
	if s.work > workFree/2 || s.texts.built > builtFree/2 || s.metricsSeen > maxMetrics/2 || len(s.strs) > maxStrings/2 {
		return true
	}
	for i := range s.groups {
		if len(s.groups[i].list) > maxGroups/2 {
			return true
		}
	}
	for _, r := range s.rows {
		if r != nil && !r.idle && r.full() {
			return true
		}
	}
	for _, d := range s.indoms {
		if len(d.insts) > maxInstances/2 {
			return true
		}
	}
	return false
}

// Tick appends the body of a record of t to out. An error means that t cannot
// be recorded and that nothing was appended.
func (e *Encoder) Tick(out []byte, t *metric.Tick) ([]byte, error) { return e.tick(out, t, nil) }

func (e *Encoder) tick(out []byte, t *metric.Tick, still *Still) ([]byte, error) {
	if e.broken != nil {
		return out, e.broken
	}
	if err := check(t); err != nil {
		return out, err
	}
	s := e.s
	if err := s.rowsOf(t.Class).prepare(s.groupsOf(t.Class), t); err != nil {
		return out, err
	}
	s.coder.startEncoding(append(out, byte(KindTick)<<5|byte(t.Class)))
	c, err := s.tick(t.Class, t, still)
	if err != nil {
		// The model has seen half a tick, so nothing can follow.
		e.broken = fmt.Errorf("a tick of class %s could not be coded", t.Class)
		return out, e.broken
	}
	return c.finishEncoding(), nil
}

// Event appends the body of a record of ev to out.
func (e *Encoder) Event(out []byte, ev *metric.Event) ([]byte, error) {
	if err := checkEvent(ev); err != nil {
		return out, err
	}
	e.s.coder.startEncoding(append(out, byte(KindEvent)<<5))
	e.s.event(ev)
	return e.s.coder.finishEncoding(), nil
}

// Describe appends the body of a record that adds to the catalogue.
func (e *Encoder) Describe(out []byte, ds []*metric.Desc) []byte {
	e.s.coder.startEncoding(append(out, byte(KindDescribe)<<5))
	e.s.catalog(ds)
	return e.s.coder.finishEncoding()
}

// Config appends the body of a record of a change of configuration.
func (e *Encoder) Config(out []byte, conf *Config) []byte {
	e.s.coder.startEncoding(append(out, byte(KindConfig)<<5))
	e.s.config(conf)
	return e.s.coder.finishEncoding()
}

// A Decoder is the inverse of an Encoder.
type Decoder struct {
	s    *state
	tick metric.Tick
	err  error
	// later is set if the rows of ticks are left for later.
	later *kept
	// For late ticks; late is nil until there is one.
	late     *state
	lateTick metric.Tick
}

// NewDecoder makes a decoder at the beginning of a generation. It gets instances from intern,
// which may return nil to have a new one made; intern may be nil. In generations of version 2 one
// model codes the rows of all classes together.
func NewDecoder(together bool, intern func(indom, key string) *metric.Instance) *Decoder {
	d := new(Decoder)
	if together {
		d.s = newState()
	} else {
		d.s = newHalves()
	}
	for _, s := range append(d.s.rows[:], d.s) {
		if s != nil {
			s.intern = intern
		}
	}
	return d
}

// Decode reads the body of one record into r. Ticks are valid until the next
// call; instances stay the same, but may be renamed (and their Rev grow).
// After an error nothing more can be decoded.
func (d *Decoder) Decode(body []byte, r *Record) error {
	if d.err == nil {
		d.err = d.decode(body, r)
	}
	return d.err
}

func (d *Decoder) decode(body []byte, r *Record) error {
	if len(body) == 0 {
		return errCorrupt
	}
	s := d.s
	kind, low := Kind(body[0]>>5), body[0]&31
	*r = Record{Seq: r.Seq, Kind: kind}
	if isLate(body) {
		return d.decodeLate(body, r)
	}
	if kind == KindCopy {
		r.Copy = parseCopy(body[1:])
		if r.Copy == nil {
			return errCorrupt
		}
		return nil
	}
	s.coder.startDecoding(body[1:])
	switch kind {
	case KindTick:
		if metric.Class(low) >= metric.NumClasses {
			return fmt.Errorf("tick of unknown class %d", low)
		}
		d.tick.Blocks = d.tick.Blocks[:0]
		r.Tick = &d.tick
		if d.later != nil && s.rows[0] != nil {
			var err error
			r.Later, err = d.later.tick(s, metric.Class(low), r.Tick)
			return err
		}
		c, err := s.tick(metric.Class(low), r.Tick, nil)
		if err == nil && c.bad() {
			err = errCorrupt
		}
		return err
	case KindEvent:
		r.Event = s.event(nil)
	case KindDescribe:
		r.Descs = s.catalog(nil)
	case KindConfig:
		r.Conf = s.config(nil)
	default:
		return fmt.Errorf("record of unknown kind %d", kind)
	}
	if s.coder.bad() {
		return errCorrupt
	}
	return nil
}
