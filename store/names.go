package store

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The files of an archive directory. An archive being written is
//
//	HOST-START.live          its bbolt file
//	HOST-START.live.jNNNNNN  generations of its journal
//
// and becomes HOST-START--END.tacho by way of HOST-START.live.tmp. Times are
// UTC, so that names sort as the archives do.
const (
	liveSuffix     = ".live"
	finishedSuffix = ".tacho"
	tmpSuffix      = ".tmp"
	damagedSuffix  = ".damaged"
	lockName       = "recorder.lock"
	nameTime       = "20060102T150405Z"
)

// FinishedSuffix is what the names of finished archives end in.
const FinishedSuffix = finishedSuffix

// LockName is the file in an archive directory that the recorder which writes
// there holds a lock on.
const LockName = lockName

// hostPart makes a host's name fit for a file name.
func hostPart(host string) string {
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

// liveName is the name of an archive begun at wall. n tells apart those that
// began in the same second.
func liveName(host string, wall int64, n int) string {
	name := hostPart(host) + "-" + timePart(wall)
	if n > 0 {
		name += "_" + strconv.Itoa(n)
	}
	return name + liveSuffix
}

// finishedName is the name of a finished archive of the given span.
func finishedName(host string, from, to int64, n int) string {
	name := hostPart(host) + "-" + timePart(from) + "--" + timePart(to)
	if n > 0 {
		name += "_" + strconv.Itoa(n)
	}
	return name + finishedSuffix
}

// parseFinishedName takes the span out of the name of a finished archive.
func parseFinishedName(name string) (from, to time.Time, ok bool) {
	stem, ok := strings.CutSuffix(name, finishedSuffix)
	if !ok {
		return from, to, false
	}
	head, tail, ok := strings.Cut(stem, "--")
	if !ok {
		return from, to, false
	}
	tail, n, numbered := strings.Cut(tail, "_")
	if numbered && !digits(n) {
		return from, to, false
	}
	host, start, ok := cutLast(head, "-")
	if !ok || host != hostPart(host) {
		return from, to, false
	}
	from, err1 := time.Parse(nameTime, start)
	to, err2 := time.Parse(nameTime, tail)
	return from, to, err1 == nil && err2 == nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// journalName is the name of a generation of the journal of the archive at
// path.
func journalName(path string, generation uint64) string {
	return fmt.Sprintf("%s.j%06d", path, generation)
}

// parseJournalName takes apart what journalName made of a file's name.
func parseJournalName(name string) (live string, generation uint64, ok bool) {
	live, n, ok := cutLast(name, ".j")
	if !ok || !strings.HasSuffix(live, liveSuffix) || !digits(n) {
		return "", 0, false
	}
	generation, err := strconv.ParseUint(n, 10, 64)
	return live, generation, err == nil && generation > 0
}

// isLiveName reports whether name is that of an archive being written.
func isLiveName(name string) bool { return filepath.Ext(name) == liveSuffix }

// journalsOf lists the journals of the archive at path. Those of one that a
// recorder has set aside are set aside with it.
func journalsOf(path string) ([]string, error) {
	stem, aside := strings.CutSuffix(path, damagedSuffix)
	pattern := globQuote(stem) + ".j[0-9]*"
	if aside {
		pattern += damagedSuffix
	}
	return filepath.Glob(pattern)
}

func isArchiveName(name string) bool {
	return strings.HasSuffix(name, finishedSuffix) || isLiveName(name)
}

func isJournalName(name string) bool {
	_, _, ok := parseJournalName(name)
	return ok
}

// globQuote takes the meaning out of a pattern's characters.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
