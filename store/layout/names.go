package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tachograph/store/fault"
)

// The files of an archive directory. An archive being written is
//
//	HOST-START.live          its bbolt file
//	HOST-START.live.jNNNNNN  generations of its journal
//
// and becomes HOST-START--END.tacho by way of HOST-START.live.tmp. Times are
// UTC, so that names sort as the archives do.
const (
	LiveSuffix     = ".live"
	FinishedSuffix = ".tacho"
	TmpSuffix      = ".tmp"
	DamagedSuffix  = ".damaged"
	LockName       = "recorder.lock"
	sparePrefix    = "recorder.spare"
	nameTime       = "20060102T150405Z"
)

// HostPart makes a host's name fit for a file name.
func HostPart(host string) string {
	host, _, _ = strings.Cut(host, ".")
	var b strings.Builder
	for _, r := range host {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			b.WriteRune(r)
		case b.Len() > 0:
			b.WriteByte('_')
		}
		if b.Len() >= 40 {
			break
		}
	}
	if b.Len() == 0 {
		return "host"
	}
	return b.String()
}

func timePart(wall int64) string { return time.Unix(0, wall).UTC().Format(nameTime) }

// LiveName is the name of an archive begun at wall. n distinguishes archives that began in the
// same second.
func LiveName(host string, wall int64, n int) string {
	name := HostPart(host) + "-" + timePart(wall)
	if n > 0 {
		name += "_" + strconv.Itoa(n)
	}
	return name + LiveSuffix
}

// FinishedName is the name of a finished archive of the given span.
func FinishedName(host string, from, to int64, n int) string {
	name := HostPart(host) + "-" + timePart(from) + "--" + timePart(to)
	if n > 0 {
		name += "_" + strconv.Itoa(n)
	}
	return name + FinishedSuffix
}

// ParseFinishedName returns the span in the name of a finished archive.
func ParseFinishedName(name string) (from, to time.Time, ok bool) {
	stem, ok := strings.CutSuffix(name, FinishedSuffix)
	if !ok {
		return from, to, false
	}
	head, tail, ok := strings.Cut(stem, "--")
	if !ok {
		return from, to, false
	}
	tail, n, numbered := strings.Cut(tail, "_")
	if numbered && !Digits(n) {
		return from, to, false
	}
	host, start, ok := CutLast(head, "-")
	if !ok || host != HostPart(host) {
		return from, to, false
	}
	from, err1 := time.Parse(nameTime, start)
	to, err2 := time.Parse(nameTime, tail)
	return from, to, err1 == nil && err2 == nil
}

// CutLast is strings.Cut around the last sep.
func CutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Digits reports whether s is a number in digits.
func Digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// JournalName is the name of a generation of the journal of the archive at
// path.
func JournalName(path string, generation uint64) string {
	return fmt.Sprintf("%s.j%06d", path, generation)
}

// ParseJournalName takes apart a file name that JournalName made.
func ParseJournalName(name string) (live string, generation uint64, ok bool) {
	live, n, ok := CutLast(name, ".j")
	if !ok || !strings.HasSuffix(live, LiveSuffix) || !Digits(n) {
		return "", 0, false
	}
	generation, err := strconv.ParseUint(n, 10, 64)
	return live, generation, err == nil && generation > 0
}

// IsLiveName reports whether name is the name of an archive being written.
func IsLiveName(name string) bool { return filepath.Ext(name) == LiveSuffix }

// JournalsOf lists the journals of the archive at path. If a recorder has set the archive aside,
// its journals are set aside with it.
func JournalsOf(path string) ([]string, error) {
	stem, aside := strings.CutSuffix(path, DamagedSuffix)
	pattern := GlobQuote(stem) + ".j[0-9]*"
	if aside {
		pattern += DamagedSuffix
	}
	return filepath.Glob(pattern)
}

// IsArchiveName reports whether name is the name of an archive, finished or not.
func IsArchiveName(name string) bool {
	return strings.HasSuffix(name, FinishedSuffix) || IsLiveName(name)
}

// IsJournalName reports whether name is the name of a generation of a journal.
func IsJournalName(name string) bool {
	_, _, ok := ParseJournalName(name)
	return ok
}

// SpareName is the name of a file that the writer will use again for a journal; the file held
// generation n.
func SpareName(n uint64) string { return fmt.Sprintf("%s%06d", sparePrefix, n) }

// IsSpareName reports whether SpareName made name.
func IsSpareName(name string) bool { return strings.HasPrefix(name, sparePrefix) }

// GlobQuote escapes the special characters of a pattern.
func GlobQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// statAt is os.Stat of the file at path, or of the bundle that it is a member of.
func statAt(path string) (fs.FileInfo, error) {
	st, err := os.Stat(path)
	if errors.Is(err, syscall.ENOTDIR) {
		return Stat(path)
	}
	return st, err
}

// FilesAt lists the archives and journals at path: all in a directory, or one archive with its
// journals, or all archives of a bundle.
func FilesAt(path string) ([]string, error) {
	st, err := statAt(path)
	if err != nil {
		return nil, &fault.Error{Path: path, Err: err}
	}
	if members, isBundle, err := BundleAt(path); isBundle && !st.IsDir() {
		if err != nil {
			members = append(members, path) // opening it reports what is wrong with it
		}
		return members, nil
	}
	if !st.IsDir() {
		journals, err := JournalsOf(path)
		return append([]string{path}, journals...), err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() && (IsArchiveName(e.Name()) || IsJournalName(e.Name())) {
			file := filepath.Join(path, e.Name())
			members, isBundle, err := BundleAt(file)
			files = append(files, members...)
			if !isBundle || err != nil {
				files = append(files, file)
			}
		}
	}
	if len(files) == 0 {
		return nil, &fault.Error{Path: path, Kind: fault.NotFound, Err: fmt.Errorf("it holds no archive: %w", fs.ErrNotExist)}
	}
	return files, nil
}
