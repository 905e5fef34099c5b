package follow_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/follow"
	"tachograph/store/layout"
	"tachograph/store/recording"
	"tachograph/store/storetest/mangle"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// recordEnv is the directory that this program records into, as a process of its own,
// when it is set: the items whose numbers come by its standard input.
const recordEnv = "TACHO_TEST_RECORD"

// recordAlone is the program of a process that records, and can be killed.
func recordAlone(dir string, items int) error {
	list := proof.Items(3, items)
	clock := proof.NewClock(list[0].At())
	lines := bufio.NewScanner(os.Stdin)
	var w *recording.Writer
	for lines.Scan() {
		i, err := strconv.Atoi(lines.Text())
		if err != nil {
			return err
		}
		clock.Set(list[i].At())
		if w == nil {
			if w, err = recording.Create(recorded.ProofOptions(dir, 3, clock.Now)); err != nil {
				return err
			}
		}
		if err := list[i].Append(w); err != nil {
			return err
		}
		fmt.Println(i)
	}
	return lines.Err()
}

// TestKilled follows a recorder that is killed again and again, sometimes while it
// records, and goes on in the same archive.
func TestKilled(t *testing.T) {
	const items = 300
	dir, list := t.TempDir(), proof.Items(3, items)
	rnd := rand.New(rand.NewPCG(3, 9))
	var cmd *exec.Cmd
	var in io.WriteCloser
	var out *bufio.Reader
	start := func() {
		cmd = exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), recordEnv+"="+dir+":"+strconv.Itoa(items))
		cmd.Stderr = os.Stderr
		in, _ = cmd.StdinPipe()
		o, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		out = bufio.NewReader(o)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	kill := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	start()
	defer func() { kill() }()
	f := open(t, follow.Options{Wait: true}, dir)
	defer f.Close()
	want, got, resumed := streams{}, streams{}, streams{}
	at := follow.Position{}
	for i, it := range list {
		fmt.Fprintln(in, i)
		if i > 0 && rnd.IntN(25) == 0 {
			// Whether this one is recorded is for the follower to say.
			kill()
			next := streams{}
			r := open(t, follow.Options{From: f.Position()}, dir)
			present(t, r, next)
			r.Close()
			if it.Tick != nil && slices.Contains(next[it.Tick.Class.String()], tickText(it.Tick)) {
				want.tick(it.Tick)
			} else if it.Event != nil && slices.Contains(next["events"], proof.EventText(it.Event)) {
				want.event(it.Event)
			}
			start()
			continue
		}
		if line, err := out.ReadString('\n'); err != nil || line != fmt.Sprintln(i) {
			t.Fatal(line, err)
		}
		if it.Tick != nil {
			want.tick(it.Tick)
		} else {
			want.event(it.Event)
		}
		until(t, f, got, want)
		got.compare(t, "steady", want)
		if at.Archive == "" {
			at = follow.Position{Archive: f.Position().Archive}
		}
		if i%5 == 0 {
			r := open(t, follow.Options{From: at}, dir)
			present(t, r, resumed)
			at = r.Position()
			r.Close()
			resumed.compare(t, "resumed", want)
		}
		if rnd.IntN(30) == 0 {
			kill()
			start()
		}
	}
	present(t, f, got)
	got.compare(t, "steady", want)
}

// TestBehind follows far behind a writer that commits, uses the files of its journal
// again and rotates.
func TestBehind(t *testing.T) {
	for seed := range uint64(proof.Pick(t, 4, 30)) {
		r := newRecorder(t, seed+20, 500)
		rnd := rand.New(rand.NewPCG(seed, 3))
		f := open(t, follow.Options{}, r.dir)
		got := streams{}
		for r.next < len(r.list) {
			for range 1 + rnd.IntN(60) {
				if r.next == len(r.list) {
					break
				}
				if r.next%170 == 169 {
					if _, err := r.w.Rotate("test"); err != nil {
						t.Fatal(err)
					}
				}
				r.record()
			}
			for range rnd.IntN(20) {
				it, err := f.Next(t.Context())
				if err != nil || it.Lost != nil {
					t.Fatal(err, it.Lost)
				}
				if it.Present {
					break
				}
				got.add(it)
			}
			proof.WaitFor(t, func() bool { return r.w.Status().Queued == 0 })
		}
		until(t, f, got, r.want)
		got.compare(t, fmt.Sprint("seed ", seed), r.want)
		f.Close()
	}
}

// TestRemoved follows archives that are removed while they are read.
func TestRemoved(t *testing.T) {
	r := newRecorder(t, 8, 240)
	for r.next < 80 {
		r.record()
	}
	f := open(t, follow.Options{From: follow.Position{Archive: open(t, follow.Options{}, r.dir).Position().Archive}}, r.dir)
	defer f.Close()
	got := streams{}
	it, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got.add(it)
	first := f.Position()
	path, err := r.w.Rotate("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for r.next < 160 {
		r.record()
	}
	until(t, f, got, r.want)
	got.compare(t, "of a removed archive", r.want)
	if _, err := follow.Open(follow.Options{From: first}, r.dir); !errors.Is(err, follow.ErrGone) {
		t.Fatal(err)
	}
	// One that was not begun to be read is passed over.
	behind := open(t, follow.Options{From: f.Position()}, r.dir)
	defer behind.Close()
	if path, err = r.w.Rotate("test"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.w.Rotate("test"); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(path)
	for r.next < 240 {
		r.record()
	}
	until(t, f, got, r.want)
	got.compare(t, "steady", r.want)
	rest := streams{}
	until(t, behind, rest, streams{"fast": r.want["fast"][len(r.want["fast"])-10:]})
}

// TestHosts follows one of two hosts whose archives stand in one directory.
func TestHosts(t *testing.T) {
	other, _ := recorded.RecordDir(t, 5, 200)
	r := newRecorder(t, 4, 100)
	entries, err := os.ReadDir(other)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(other, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if layout.IsArchiveName(e.Name()) || layout.IsJournalName(e.Name()) {
			if err := os.WriteFile(filepath.Join(r.dir, "b"+e.Name()), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	ids := make(map[string]bool)
	names, _ := filepath.Glob(filepath.Join(r.dir, "*.tacho"))
	for _, n := range names {
		h, err := layout.ReadHeader(n)
		if err != nil {
			t.Fatal(err)
		}
		ids[h.ID] = true
		if _, err := follow.Open(follow.Options{Host: "another", From: follow.Position{Archive: h.ID}}, r.dir); err == nil || errors.Is(err, follow.ErrGone) || !strings.Contains(err.Error(), "host") {
			t.Fatal(err)
		}
	}
	if len(ids) == 0 {
		t.Fatal("there is no other archive")
	}
}

// TestDamaged follows directories in which something is not as it was written: it
// comes to the present end, and delivers nothing twice.
func TestDamaged(t *testing.T) {
	sound, list := recorded.RecordDir(t, 11, 200)
	for seed := range uint64(proof.Pick(t, 40, 3000)) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
			t.Fatal(err)
		}
		what, err := mangle.Directory(rand.New(rand.NewPCG(seed, 1)), dir)
		if err != nil {
			t.Fatal(err)
		}
		names, _ := filepath.Glob(filepath.Join(dir, "*.tacho"))
		more, _ := filepath.Glob(filepath.Join(dir, "*.live"))
		opts := []follow.Options{{Standing: true}}
		for _, n := range append(names, more...) {
			if h, err := layout.ReadHeader(n); err == nil {
				opts = append(opts, follow.Options{From: follow.Position{Archive: h.ID}, Standing: true})
			}
		}
		for _, opt := range opts {
			proof.Brief(t, what, func() { inOrder(t, what, opt, dir, 20*len(list)) })
		}
	}
}

// inOrder follows a directory, if it can be followed, to the present end, which must
// come within so many items, no tick of an archive twice.
func inOrder(t *testing.T, what string, opt follow.Options, dir string, most int) {
	t.Helper()
	f, err := follow.Open(opt, dir)
	if err != nil {
		return
	}
	defer f.Close()
	ctx, cancel := proof.Waiting(t)
	defer cancel()
	last := make(map[metric.Class]int64)
	archive, n := "", 0
	for {
		it, err := f.Next(ctx)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if it.Present {
			return
		}
		if n++; n > most {
			t.Fatalf("%s: there is no end", what)
		}
		if at := f.Position().Archive; at != archive {
			archive = at
			clear(last)
		}
		if it.Tick != nil && !it.Standing {
			if at := it.Tick.At.Cont; last[it.Tick.Class] != 0 && at <= last[it.Tick.Class] {
				t.Fatalf("%s: a tick of class %v comes twice, or late", what, it.Tick.Class)
			}
			last[it.Tick.Class] = it.Tick.At.Cont
			_ = tickText(it.Tick)
		}
	}
}

// TestComesAndGoes follows a directory that is not there yet, is replaced, and removed.
func TestComesAndGoes(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "archives")
	f := open(t, follow.Options{Wait: true}, dir)
	defer f.Close()
	got := streams{}
	present(t, f, got)
	list, want := proof.Items(9, 60), streams{}
	clock := proof.NewClock(list[0].At())
	for i := range 3 {
		opt := recorded.ProofOptions(dir, 9, clock.Now)
		opt.BootID = fmt.Sprint("boot-", i)
		w, err := recording.Create(opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range list[20*i : 20*i+20] {
			clock.Set(it.At())
			if err := it.Append(w); err != nil {
				t.Fatal(err)
			}
			if it.Tick != nil {
				want.tick(it.Tick)
			} else {
				want.event(it.Event)
			}
		}
		until(t, f, got, want)
		got.compare(t, fmt.Sprint("directory ", i), want)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			err = os.Rename(dir, filepath.Join(top, "aside"))
		} else {
			err = os.RemoveAll(dir)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestOneFile follows an archive by the name of its file, which is finished under
// another name.
func TestOneFile(t *testing.T) {
	r := newRecorder(t, 12, 120)
	names, _ := filepath.Glob(filepath.Join(r.dir, "*.live"))
	f := open(t, follow.Options{}, names[0])
	defer f.Close()
	got := streams{}
	for r.next < 60 {
		r.record()
		until(t, f, got, r.want)
	}
	got.compare(t, "one file", r.want)
	for r.next < 90 {
		r.record()
	}
	if _, err := r.w.Rotate("test"); err != nil {
		t.Fatal(err)
	}
	until(t, f, got, r.want)
	present(t, f, got)
	want := len(got["fast"])
	for r.next < 120 {
		r.record()
	}
	present(t, open(t, follow.Options{}, r.dir), streams{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for {
		it, err := f.Next(ctx)
		if err != nil {
			break
		}
		got.add(it)
	}
	if len(got["fast"]) != want {
		t.Error("it goes on to another archive")
	}
}
