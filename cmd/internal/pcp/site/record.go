package site

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Record is what an installation did, for removing it or installing again.
type Record struct {
	// Before are files that others own, as they were, by their paths.
	Before map[string]Before `json:"before"`
	// Lines were added to pmcd.conf, Names to the name space.
	Lines []Swap `json:"lines"`
	Names []Name `json:"names"`
	// Made are the files that are only ours, Dirs the directories that were made for them.
	Made []string `json:"made"`
	Dirs []string `json:"dirs,omitempty"`
}

// Before is a file's old content, and the digest of the content that we left.
type Before struct {
	Content []byte `json:"content"`
	Left    string `json:"left"` // sha256
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Installed reports whether there is a record of an installation here.
func (s *Site) Installed() bool {
	r, err := s.record()
	return r != nil || err != nil
}

// missing returns the directories above a file that do not exist, the lowest first.
func (s *Site) missing(path string) (dirs []string) {
	for dir := filepath.Dir(path); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(s.at(dir)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// record reads what an earlier installation did; nil if there was none.
func (s *Site) record() (*Record, error) {
	path := s.at(s.Paths.record())
	text, err := read(path, maxNames)
	if text == nil || err != nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s, which says what recorder pmda install did, cannot be read: %w (remove it, and PCP's ./Remove beside it takes the agent away)", path, err)
	}
	return &r, nil
}

// base returns what another's file would be without us: its old bytes, if it has not been
// changed since, or else its present content without ours.
func (r *Record) base(path string, now []byte, take func([]byte) ([]byte, error)) ([]byte, error) {
	if r == nil || now == nil {
		return now, nil
	}
	if b, ok := r.Before[path]; ok && sum(now) == b.Left {
		return b.Content, nil
	}
	return take(now)
}
