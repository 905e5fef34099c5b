package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"tachograph/store/boltread"
	"tachograph/store/fault"
)

// MetaJournal is the key under which an archive says how much of its journal
// it holds.
const MetaJournal = "journal"

// Progress is how far an archive has taken over its journal: every record up
// to Sealed is in the archive.
type Progress struct {
	Sealed uint64 `json:"sealed"`
	// Generation is that of the first journal file that holds more: it was in
	// the directory when this was written. Closed says that there is no more.
	// Archives of early writers say neither.
	Generation uint64 `json:"generation,omitempty"`
	Closed     bool   `json:"closed,omitempty"`
}

// Missing says what a live archive lacks whose journal is not beside it: what
// was recorded after last.
func (p Progress) Missing(path string, last int64) error {
	return fmt.Errorf("its journal is not beside it: %s and later ones are missing, and with them what was recorded after %s; copy the files of a live archive together",
		filepath.Base(JournalName(path, p.Generation)), fault.UTC(last))
}

// ReadProgress reads how far the archive at path has taken over its journal.
func ReadProgress(path string) (p Progress, err error) {
	err = WithSnapshot(path, func(s *boltread.Snapshot) error {
		b, err := s.Bucket(BucketMeta)
		if b == nil {
			return errors.Join(err, fs.ErrNotExist)
		}
		v, err := b.Get([]byte(MetaJournal))
		if err != nil {
			return err
		}
		if v, err = Unwrap(BucketMeta, []byte(MetaJournal), v); err != nil {
			return err
		}
		return json.Unmarshal(v, &p)
	})
	return p, err
}
