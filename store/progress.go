package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"tachograph/store/boltread"
	"tachograph/store/fault"

	"go.etcd.io/bbolt"
)

// metaJournal is the key under which an archive says how much of its journal
// it holds.
const metaJournal = "journal"

// progress is how far an archive has taken over its journal: every record up
// to Sealed is in the archive.
type progress struct {
	Sealed uint64 `json:"sealed"`
	// Generation is that of the first journal file that holds more: it was in
	// the directory when this was written. Closed says that there is no more.
	// Archives of early writers say neither.
	Generation uint64 `json:"generation,omitempty"`
	Closed     bool   `json:"closed,omitempty"`
}

// missing says what a live archive lacks whose journal is not beside it: what
// was recorded after last.
func (p progress) missing(path string, last int64) error {
	return fmt.Errorf("its journal is not beside it: %s and later ones are missing, and with them what was recorded after %s; copy the files of a live archive together",
		filepath.Base(journalName(path, p.Generation)), fault.UTC(last))
}

// readProgress reads how far the archive at path has taken over its journal.
func readProgress(path string) (p progress, err error) {
	err = withSnapshot(path, func(s *boltread.Snapshot) error {
		b, err := s.Bucket(bucketMeta)
		if b == nil {
			return errors.Join(err, fs.ErrNotExist)
		}
		v, err := b.Get([]byte(metaJournal))
		if err != nil {
			return err
		}
		if v, err = unwrap(bucketMeta, []byte(metaJournal), v); err != nil {
			return err
		}
		return json.Unmarshal(v, &p)
	})
	return p, err
}

// putProgress stores how far the journal has been taken over.
func putProgress(tx *bbolt.Tx, p progress) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return put(tx, bucketMeta, []byte(metaJournal), b)
}
