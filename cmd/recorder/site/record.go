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

// Record is what an installation did, for the one that takes it away or does it again.
type Record struct {
	// Before are files that others own, as they were, by their paths.
	Before map[string]Before `json:"before"`
	// Lines were put into pmcd.conf, Names into the name space.
	Lines []Swap `json:"lines"`
	Names []Name `json:"names"`
	// Made are the files that are ours alone, Dirs the directories that were made for them.
	Made []string `json:"made"`
	Dirs []string `json:"dirs,omitempty"`
}

// Before is a file as it was, and how to know it as it was left.
type Before struct {
	Content []byte `json:"content"`
	Left    string `json:"left"` // sha256
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Installed reports whether an installation says that it put the agent here.
func (s *Site) Installed() bool {
	r, err := s.record()
	return r != nil || err != nil
}

// missing are the directories above a file that are not there, the lowest first.
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

// base is a file of others as it would be without us: the bytes that it had, where
// nobody has changed it since, and else what it has now without what is ours.
func (r *Record) base(path string, now []byte, take func([]byte) ([]byte, error)) ([]byte, error) {
	if r == nil || now == nil {
		return now, nil
	}
	if b, ok := r.Before[path]; ok && sum(now) == b.Left {
		return b.Content, nil
	}
	return take(now)
}
