package systemd

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"tachograph/sample/proc/cmdline"
	"time"
)

// Panics is the directory into which systemd moves what a dying kernel left in the firmware's
// memory, below the root.
const Panics = "var/lib/systemd/pstore"

// Panic is what a kernel said last.
type Panic struct {
	Path   string
	Time   time.Time     // when the file was written: by the boot after
	Reason string        // "Kernel panic - not syncing: …" or the like, "" where no line says it
	Uptime time.Duration // of the kernel at that line, or at the last; 0 where lines have no times
	Lines  []string      // from the first that names trouble, or the last
}

// How much is read and kept of a panic.
const (
	maxPanic      = 256 << 10
	maxPanicLines = 24
	maxPanicLine  = 160
	maxBefore     = time.Minute // from the first trouble to the reason
	maxPerLevel   = 64
	maxDepth      = 3 // of directories: systemd makes one for each time, and in it one for each record
)

// ListPanics returns the latest panics below a directory, the oldest first.
func ListPanics(dir string) ([]Panic, error) {
	paths, err := kernelLogs(dir, maxDepth)
	var files []dated
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, dated{path, info.ModTime()})
		}
	}
	var panics []Panic
	for _, f := range latest(files) {
		// The last lines are what was said last.
		tail, errRead := readPart(f.name, -1, maxPanic)
		if errRead != nil {
			err = cmp.Or(err, errRead)
			continue
		}
		p := parsePanic(tail)
		p.Path, p.Time = f.name, f.at
		panics = append(panics, p)
	}
	return panics, err
}

// kernelLogs are the files that hold a kernel's lines: dmesg.txt, which systemd puts together, or
// else the records themselves.
func kernelLogs(dir string, depth int) (paths []string, err error) {
	names, err := namesIn(dir)
	if err != nil {
		return nil, err
	}
	if slices.Contains(names, "dmesg.txt") {
		return []string{filepath.Join(dir, "dmesg.txt")}, nil
	}
	for _, name := range names[max(len(names)-maxPerLevel, 0):] { // those of times, of which the last are the latest
		path := filepath.Join(dir, name)
		info, errStat := os.Lstat(path)
		switch {
		case errStat != nil:
		case info.Mode().IsRegular() && strings.HasPrefix(name, "dmesg-"):
			paths = append(paths, path)
		case info.Mode().Type() == fs.ModeDir && depth > 1:
			below, errBelow := kernelLogs(path, depth-1)
			paths = append(paths, below...)
			err = cmp.Or(err, errBelow)
		}
	}
	return paths, err
}

// reasons are what lines say that are the cause of a kernel's end, the one that says most first.
var reasons = []string{"Kernel panic - not syncing", "BUG: ", "kernel BUG at ", "Oops", "general protection fault", "Unable to handle kernel", "watchdog: "}

// parsePanic finds the reason among a kernel's lines.
func parsePanic(text []byte) (p Panic) {
	var lines []string
	var times []time.Duration
	for line := range strings.Lines(string(text)) {
		said, at := kernelLine(strings.TrimRight(line, "\r\n"))
		if said != "" {
			lines, times = append(lines, cmdline.Bounded(said, maxPanicLine)), append(times, at)
		}
	}
	reason := -1
	for _, r := range reasons {
		if reason = slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, r) }); reason >= 0 {
			p.Reason = lines[reason]
			break
		}
	}
	first := max(len(lines)-maxPanicLines, 0)
	switch {
	case reason >= 0:
		p.Uptime = times[reason]
		// A panic is often the end of something that has a name of its own.
		first = slices.IndexFunc(lines, func(line string) bool {
			return slices.ContainsFunc(reasons, func(r string) bool { return strings.Contains(line, r) })
		})
		if p.Uptime-times[first] > maxBefore {
			first = reason
		}
	case len(times) > 0:
		p.Uptime = times[len(times)-1]
	}
	size := 0
	for _, line := range lines[first:min(first+maxPanicLines, len(lines))] {
		if size += len(line); size > maxText {
			break
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}

// kernelLine takes the level, the time and the thread from the front of a line:
// "<4>[ 1234.567890][ T1] text". The line that begins a record, "Panic#1 Part2", is none.
func kernelLine(line string) (said string, at time.Duration) {
	if kind, number, ok := strings.Cut(line, "#"); ok && (kind == "Panic" || kind == "Oops" || kind == "Emergency") && strings.Contains(number, " Part") {
		return "", 0
	}
	if rest, ok := strings.CutPrefix(line, "<"); ok {
		if level, rest, ok := strings.Cut(rest, ">"); ok && number(level) != Unknown {
			line = rest
		}
	}
	for strings.HasPrefix(line, "[") {
		inside, rest, ok := strings.Cut(line[1:], "]")
		inside = strings.TrimSpace(inside)
		seconds, err := strconv.ParseFloat(inside, 64)
		thread := len(inside) > 1 && (inside[0] == 'T' || inside[0] == 'C') && number(inside[1:]) != Unknown
		switch {
		case !ok || err != nil && !thread:
			return strings.TrimSpace(line), at
		case err == nil && seconds >= 0 && seconds < 1e9:
			at = time.Duration(seconds * float64(time.Second))
		}
		line = strings.TrimLeft(rest, " ")
	}
	return strings.TrimSpace(line), at
}
