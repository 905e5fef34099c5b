// Package catalogue serves CatalogService, and GetValues of LiveService. It reads the
// descriptions in the archives, and reads them again when they may have changed. It takes
// present values from a Hub.
package catalogue

import (
	"context"
	"slices"
	"sync"
	"time"

	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/cmd/replay/internal/serve/selection"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/fault"
)

// A Recording describes what has been recorded: a *store.Reader.
type Recording interface {
	Archives() []*archive.Info
	Metrics() []*metric.Desc
	LookupIn(info *archive.Info, name string) *metric.Desc
	Close() error
}

// A Hub returns the present state: a *live.Hub.
type Hub interface {
	Now(ctx context.Context) (*live.State, error)
}

// A Keeper keeps the descriptions of what has been recorded.
type Keeper struct {
	open func() (Recording, error)
	now  func() time.Time

	mu   sync.Mutex
	last *Known
	read time.Time
	err  error
}

// NewKeeper returns a keeper of the recording that open opens.
func NewKeeper(open func() (Recording, error), now func() time.Time) *Keeper {
	return &Keeper{open: open, now: now}
}

// Known is a snapshot of the archives and their catalogue. It does not change.
type Known struct {
	*selection.Catalogue
	// Info is the archive that was recorded last; nil if there is none.
	Info     *archive.Info
	Archives []*archive.Info
}

// How long what was read stays valid: metrics change with the archive. While there is no archive
// yet, the keeper looks more often.
const (
	fresh   = 5 * time.Second
	waiting = time.Second
)

// Known returns what is known now. Archives are opened at most every few seconds, by one request
// for all.
func (k *Keeper) Known() (*Known, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	holds := fresh
	if k.last == nil || k.last.Info == nil {
		holds = waiting
	}
	if age := k.now().Sub(k.read); k.read.IsZero() || age < 0 || age > holds {
		k.last, k.err = k.look()
		k.read = k.now()
	}
	return k.last, k.err
}

// Catalogue returns what can be selected now.
func (k *Keeper) Catalogue() (*selection.Catalogue, error) {
	known, err := k.Known()
	if err != nil {
		return nil, err
	}
	return known.Catalogue, nil
}

func (k *Keeper) look() (*Known, error) {
	r, err := k.open()
	if fault.Of(err) == fault.NotFound {
		return &Known{Catalogue: selection.New(nil, nil)}, nil // nothing has been recorded yet
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	known := new(Known)
	var metrics []*metric.Desc
	for _, info := range r.Archives() {
		own := *info
		own.Damage = slices.Clone(info.Damage)
		known.Archives = append(known.Archives, &own)
		if known.Info == nil || own.To >= known.Info.To {
			known.Info = &own
		}
	}
	if k.last != nil && sameArchive(k.last.Info, known.Info) {
		known.Catalogue = k.last.Catalogue
		return known, nil
	}
	for _, info := range r.Archives() {
		if known.Info == nil || info.ID != known.Info.ID {
			continue
		}
		for _, d := range r.Metrics() {
			if own := r.LookupIn(info, d.Name); own != nil {
				metrics = append(metrics, own)
			}
		}
	}
	known.Catalogue = selection.New(known.Info, metrics)
	return known, nil
}

// sameArchive reports whether two archives are the same and describe the same metrics: a reload
// of the configuration changes what an archive describes.
func sameArchive(a, b *archive.Info) bool {
	return a != nil && b != nil && a.ID == b.ID && a.Config == b.Config && a.Intervals == b.Intervals
}
