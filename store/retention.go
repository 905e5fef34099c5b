package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tachograph/store/disk"
)

// Prune removes the oldest finished archives of a directory: those that ended
// more than keepFor before now, and then as many as bring the archives down to
// keepSize bytes together. Zero means no limit. It never removes what is being
// written, a file whose name or content is not that of an archive, or anything
// but a regular file.
func Prune(dir string, keepFor time.Duration, keepSize int64, now time.Time) (removed []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("store: archive directory: %w", err)
	}
	type archive struct {
		path string
		to   time.Time
		size int64
	}
	var list []archive
	var total int64
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		if _, to, ok := parseFinishedName(e.Name()); ok {
			list = append(list, archive{filepath.Join(dir, e.Name()), to, st.Size()})
			total += st.Size()
		} else if strings.Contains(e.Name(), liveSuffix) {
			total += st.Size()
		}
	}
	slices.SortFunc(list, func(a, b archive) int {
		return cmp.Or(a.to.Compare(b.to), cmp.Compare(a.path, b.path))
	})
	var errs []error
	for _, a := range list {
		old := keepFor > 0 && now.Sub(a.to) > keepFor
		if !old && (keepSize <= 0 || total <= keepSize) {
			continue
		}
		if !ours(a.path) {
			continue
		}
		if err := os.Remove(a.path); err != nil {
			errs = append(errs, fmt.Errorf("store: an archive that is due cannot be removed: %w", err))
			continue
		}
		total -= a.size
		removed = append(removed, a.path)
	}
	return removed, errors.Join(errs...)
}

// ours reports whether the file at path is an archive, or was one before it
// was damaged: one of its first two pages is a bbolt meta page.
func ours(path string) bool {
	if _, err := archiveID(path); err == nil {
		return true
	}
	f, err := disk.OpenNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	for page := range int64(2) {
		var head [24]byte
		if _, err := f.ReadAt(head[:], page*pageSize); err == nil && [4]byte(head[16:20]) == boltMagic {
			return true
		}
	}
	return false
}

// boltMagic begins the content of bbolt's meta pages.
var boltMagic = [4]byte{0xed, 0xda, 0x0c, 0xed}
