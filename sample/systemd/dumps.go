package systemd

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"tachograph/sample"
	"tachograph/sample/proc/cmdline"
	"time"
)

// maxDumps is how many core dumps, crash files or panics are returned, the latest.
const maxDumps = 256

// CoreDumps is the directory in which systemd-coredump keeps core dumps, below the root.
const CoreDumps = "var/lib/systemd/coredump"

// Dump is a core dump, as the name of its file says.
type Dump struct {
	Path string
	Comm string
	UID  int
	Boot ID
	PID  int
	Time time.Time
	Size int64 // of the file, which may be compressed
}

// ListDumps returns the latest core dumps of a directory, the oldest first.
func ListDumps(dir string) ([]Dump, error) {
	names, err := namesIn(dir)
	var files []dated
	for _, name := range names {
		if d, ok := parseDump(name); ok {
			files = append(files, dated{name, d.Time})
		}
	}
	var dumps []Dump
	for _, f := range latest(files) {
		path := filepath.Join(dir, f.name)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			d, _ := parseDump(f.name)
			d.Path, d.Size = path, info.Size()
			dumps = append(dumps, d)
		}
	}
	return dumps, err
}

// dated is a file and its time.
type dated struct {
	name string
	at   time.Time
}

// latest returns the latest files, the oldest first.
func latest(files []dated) []dated {
	slices.SortStableFunc(files, func(a, b dated) int { return a.at.Compare(b.at) })
	return files[max(len(files)-maxDumps, 0):]
}

// parseDump reads the name of a core dump: core.COMM.UID.BOOT.PID.MICROSECONDS, and how it is
// compressed. In COMM what is no letter or might be taken for something else is \xNN.
func parseDump(name string) (d Dump, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) == 7 && slices.Contains([]string{"zst", "lz4", "xz"}, parts[6]) {
		parts = parts[:6]
	}
	if len(parts) != 6 || parts[0] != "core" {
		return d, false
	}
	d.Comm, d.UID, d.PID = cutName(unescape(parts[1])), number(parts[2]), number(parts[4])
	d.Boot, ok = parseID(parts[3])
	at := long(parts[5])
	d.Time = micros(parts[5])
	return d, ok && d.UID != Unknown && d.PID > 0 && at >= 0
}

// unescape replaces every \xNN by the byte that it is.
func unescape(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\x`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if len(after) >= 2 {
			if n, err := strconv.ParseUint(after[:2], 16, 8); err == nil {
				b.WriteByte(byte(n))
				s = after[2:]
				continue
			}
		}
		b.WriteString(`\x`)
		s = after
	}
}

// CrashFiles is the directory in which apport keeps crash files, below the root.
const CrashFiles = "var/crash"

// CrashFile is what apport, of Ubuntu, writes about a process that dumped core. Command line and
// environment are not read.
type CrashFile struct {
	Path       string
	Executable string
	Signal     int       // or Unknown: a crash file may be about something else
	Problem    string    // Crash, KernelCrash, KernelOops, Package…
	Package    string    // and its version
	Time       time.Time // of the file: the date in it has no zone
	UID        int
	PID        int
	Stack      []string // the innermost functions, where apport has found them
	// Text is what comes before the core, as it is, without environment, command line and what is
	// packed. Whole is set if that is all, and not just what was read.
	Text  string `json:"-"`
	Whole bool   `json:"-"`
}

// maxHead is how much of a crash file is read. What matters comes before the core.
const maxHead = 64 << 10

// ListCrashFiles returns the latest crash files of a directory, the oldest first.
func ListCrashFiles(dir string) ([]CrashFile, error) {
	names, err := namesIn(dir)
	var files []dated
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(dir, name)); strings.HasSuffix(name, ".crash") && err == nil && info.Mode().IsRegular() {
			files = append(files, dated{name, info.ModTime()})
		}
	}
	var crashes []CrashFile
	for _, f := range latest(files) {
		path := filepath.Join(dir, f.name)
		head, errRead := readPart(path, 0, maxHead)
		if errRead != nil {
			err = cmp.Or(err, errRead)
			continue
		}
		c, ok := parseCrash(head)
		if !ok {
			continue
		}
		c.Path, c.Time, c.Whole = path, f.at, c.Whole || len(head) < maxHead
		// "_usr_bin_foo.1000.crash"
		if parts := strings.Split(f.name, "."); len(parts) >= 3 && c.UID == Unknown {
			c.UID = number(parts[len(parts)-2])
		}
		crashes = append(crashes, c)
	}
	return crashes, err
}

// parseCrash reads the beginning of a crash file: lines "Key: value", of which lines that begin
// with a space are continued.
func parseCrash(head []byte) (c CrashFile, ok bool) {
	c.Signal, c.UID, c.PID = Unknown, Unknown, Unknown
	key := ""
	var kept strings.Builder
	defer func() { c.Text = kept.String() }()
	keeps := false
	for line := range strings.Lines(string(head)) {
		whole := line
		line = strings.TrimRight(line, "\n")
		if more, continued := strings.CutPrefix(line, " "); continued {
			if keeps {
				kept.WriteString(whole)
			}
			if key == "StacktraceTop" && len(c.Stack) < maxFrames && strings.TrimSpace(more) != "" {
				c.Stack = append(c.Stack, cmdline.Bounded(strings.TrimSpace(more), maxFieldText))
			}
			continue
		}
		var value string
		var is bool
		if key, value, is = strings.Cut(line, ":"); !is {
			return c, false
		}
		value = strings.TrimSpace(value)
		if keeps = value != "base64" && !strings.Contains(key, "Environ") && !strings.Contains(key, "Cmd") && key != "CoreDump"; keeps {
			kept.WriteString(whole)
		}
		switch key {
		case "ProblemType":
			c.Problem, ok = cutName(value), true
		case "ExecutablePath":
			c.Executable = text(value)
		case "Package":
			c.Package = cutName(value)
		case "Signal":
			c.Signal = number(value)
		case "Uid":
			c.UID = number(value)
		case "Pid":
			c.PID = number(value)
		case "CoreDump":
			c.Whole = true
			return c, ok
		}
	}
	return c, ok
}

// readPart reads at most n bytes of an ordinary file, from an offset, or from its end where that is
// negative.
func readPart(path string, from int64, n int) ([]byte, error) {
	f, _, err := sample.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if from < 0 {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		from = max(info.Size()-int64(n), 0)
	}
	return io.ReadAll(io.NewSectionReader(f, from, int64(n)))
}
