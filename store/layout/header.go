package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"tachograph/store/boltread"
	"tachograph/store/disk"
)

// ReadHeader reads what the archive at path says about itself, and no more.
func ReadHeader(path string) (*Header, error) {
	var h *Header
	err := WithSnapshot(path, func(s *boltread.Snapshot) error {
		for _, bucket := range []string{BucketMeta, BucketSpare} {
			b, err := s.Bucket(bucket)
			if b == nil || err != nil {
				continue
			}
			v, err := b.Get([]byte(MetaArchive))
			if v == nil || err != nil {
				continue
			}
			if v, err = Unwrap(bucket, []byte(MetaArchive), v); err != nil {
				continue
			}
			var got Header
			if json.Unmarshal(v, &got) == nil && got.Format >= 1 {
				h = &got
				return nil
			}
		}
		return errors.New("it has no header that can be read")
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// WithSnapshot lets fn read the newest transaction of the file at path.
func WithSnapshot(path string, fn func(*boltread.Snapshot) error) error {
	f, err := disk.OpenNoFollow(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := boltread.Open(boltread.FileSource(f))
	if err != nil {
		return err
	}
	return fn(s)
}
