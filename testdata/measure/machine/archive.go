package machine

import (
	"errors"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/rewrite"
)

// The earlier commits that measure compares with have no package rewrite: it leaves this file
// out there.
func init() { archived = playArchive }

// playArchive returns the machine that a recorder has recorded: the first seconds of an archive, or
// of the archives in a directory, up to a boot.
func playArchive(path string, seconds int) (*Machine, error) {
	k := newKeeper(true)
	k.archive = true
	var first *metric.Host
	var boot string
	var about Machine
	for it, err := range rewrite.Read(rewrite.ReadOptions{NoEvents: true}, path) {
		if err != nil {
			return nil, err
		}
		if first == nil {
			first, boot = &it.Archive.Host, it.Archive.BootID
			about.Host, about.Intervals = *first, it.Archive.Intervals
		}
		switch t := it.Tick; {
		case t == nil:
		case it.Archive.BootID != boot || it.Archive.Host.ID != first.ID || k.over(t, seconds):
			return k.machine(&about)
		case t.Class == metric.Static || t.Class == metric.Constrained:
			about.keepStatic(t)
		default:
			k.keep(t)
		}
	}
	return k.machine(&about)
}

// keepStatic keeps a class that is read once per archive.
func (m *Machine) keepStatic(t *metric.Tick) {
	if slices.ContainsFunc(m.static, func(o *metric.Tick) bool { return o.Class == t.Class }) {
		return
	}
	c := &metric.Tick{Class: t.Class, At: t.At}
	for _, b := range t.Blocks {
		c.Blocks = append(c.Blocks, b.Clone())
	}
	m.static = append(m.static, c)
}

// machine returns the machine of an archive.
func (k *keeper) machine(about *Machine) (*Machine, error) {
	if len(k.rec.instants) == 0 {
		return nil, errors.New("the archive holds no ticks")
	}
	m := newMachine(k.recording())
	m.Host, m.Intervals, m.static = about.Host, about.Intervals, about.static
	return m, nil
}
