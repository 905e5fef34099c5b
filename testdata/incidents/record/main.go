// Command record makes the prepared incidents again, from nothing.
//
//	go run ./testdata/incidents/record            # which there are
//	go run ./testdata/incidents/record NAME DIR   # record one into DIR/NAME
//	go run ./testdata/incidents/record 'kept-*' DIR   # record all whose names match, one after the other
//
// Some happen on the simulated Mac (testdata/darwinhost), others on a Linux machine in an
// emulator (qemu-system-x86_64). These can neither harm the machine that records them nor bring
// its processes and names into the archive. What swaps, fills up, hangs or crashes ends with the
// emulator, even when this program is interrupted. A third kind is made on this very machine,
// beside its other work.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// begin is the wall clock at the beginning of every recording.
var begin = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func main() {
	if guest() {
		return
	}
	kernel := flag.String("kernel", "", "for those on Linux: the `DIR` that a Debian package linux-image-*-cloud-amd64 was unpacked into")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: record [--kernel DIR] NAME|PATTERN DIR\n\nIncidents:")
		w := tabwriter.NewWriter(os.Stderr, 0, 0, 2, ' ', 0)
		for _, r := range recipes {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", r.Name, r.where(), r.Title)
		}
		w.Flush()
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := recordAll(ctx, flag.Arg(0), flag.Arg(1), *kernel); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		stop()
		os.Exit(1)
	}
}

// recordAll makes each incident whose name matches a pattern.
func recordAll(ctx context.Context, pattern, dir, kernel string) error {
	found := false
	for i := range recipes {
		r := &recipes[i]
		match, err := path.Match(pattern, r.Name)
		if err != nil {
			return fmt.Errorf("%q: %w", pattern, err)
		}
		if !match {
			continue
		}
		found = true
		fmt.Println(r.Name)
		if err := r.record(ctx, dir, kernel); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	if !found {
		return fmt.Errorf("there is no incident %q; without arguments this program lists them all", pattern)
	}
	return nil
}

// record makes the incident in a directory of its name, in dir.
func (r *recipe) record(ctx context.Context, dir, kernel string) error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("finding the module (run this inside it): %w", err)
	}
	root := strings.TrimSpace(string(out))
	scratch, err := os.MkdirTemp("", "incident-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	var archives []string
	var onset time.Time
	switch {
	case r.mac != nil:
		onset = begin.Add(seconds(r.mac.onset))
		archives, err = r.mac.record(ctx, root, scratch)
	case r.here != nil:
		archives, onset, err = r.here(ctx, root, scratch)
	default:
		archives, onset, err = r.linux.record(ctx, r.Name, root, kernel, scratch)
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("interrupted; nothing was kept")
	}
	return r.keep(filepath.Join(dir, r.Name), archives, onset)
}

// keep puts archives, and what is known about them, into dir.
func (r *recipe) keep(dir string, archives []string, onset time.Time) error {
	if len(archives) == 0 {
		return errors.New("the recorder left no finished archive")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, _ := filepath.Glob(filepath.Join(dir, "*.tacho"))
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for _, path := range archives {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d KB\n", filepath.Base(path), len(data)>>10)
	}
	known := r.known
	known.Name, known.Title = r.Name, r.Title
	known.Onset = onset
	known.At = onset.Add(seconds(r.asked))
	known.From, known.To = onset.Add(-seconds(r.around)), onset.Add(seconds(r.length))
	text, err := json.MarshalIndent(known, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "incident.json"), append(text, '\n'), 0o644)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
