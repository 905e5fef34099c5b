package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"tachograph/config/trust"
	"tachograph/sample/stack"
)

// WishName is the file in the archive directory that asks a running recorder to sample stacks.
// Only users who may write there can ask.
const WishName = "recorder.sample"

// StackWish is the content of that file.
type StackWish struct {
	PID     int32   `json:"pid,omitempty"` // 0: all processes
	Rate    int     `json:"rate"`
	Seconds float64 `json:"seconds"`
	About   string  `json:"about"`
	Reason  string  `json:"reason"`
}

func (w StackWish) wish() stack.Wish {
	return stack.Wish{PID: w.PID, Rate: w.Rate, For: time.Duration(w.Seconds * float64(time.Second))}
}

// Sampling is the result of the last sampling of stacks.
type Sampling struct {
	At      time.Time `json:"at"` // of its end
	About   string    `json:"about"`
	Reason  string    `json:"reason,omitempty"`
	Samples int       `json:"samples"`
	Missed  int       `json:"missed,omitempty"`
	Text    string    `json:"text,omitempty"`
	Error   string    `json:"error,omitempty"`
}

// sampling samples stacks, one session at a time.
type sampling struct {
	s      *Service
	counts *stack.Counts
	turn   sync.Mutex // held while stacks are sampled

	mu   sync.Mutex
	last Sampling
	hung []string // calls of the kernel that have not returned since the machine was started
}

// remember takes the calls that hung in an earlier recorder of this boot from its status.
func (p *sampling) remember(before Status) {
	if before.BootID == p.s.opt.Machine.BootID {
		p.hung = before.HungCalls
	}
}

var errSampling = errors.New("stacks are being sampled already; ask again when that is over")

// SampleAsked does what the file WishName asks for, and removes the file.
func (s *Service) SampleAsked(ctx context.Context) {
	path := filepath.Join(s.opt.Dir, WishName)
	w, err := readWish(path)
	if errors.Is(err, fs.ErrNotExist) {
		return // Without the file, the signal means nothing.
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		s.sampling.done(Sampling{About: w.About, Reason: w.Reason, Error: err.Error()})
		return
	}
	s.sampling.run(ctx, w)
}

// maxWish limits what is read of a file WishName.
const maxWish = 4 << 10

func readWish(path string) (StackWish, error) {
	var w StackWish
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return w, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return w, err
	}
	if !info.Mode().IsRegular() {
		return w, fmt.Errorf("%s is no regular file", path)
	}
	if err := trust.Running(os.Geteuid()).Check(path, info); err != nil {
		return w, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxWish))
	if err != nil {
		return w, err
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return w, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

// run samples as w says and reports the result.
func (p *sampling) run(ctx context.Context, w StackWish) {
	done := Sampling{About: w.About, Reason: w.Reason}
	stats, text, err := p.record(ctx, w)
	done.Samples, done.Missed, done.Text = stats.Samples, stats.Missed, text
	if err != nil {
		done.Error = err.Error()
	}
	p.done(done)
}

func (p *sampling) record(ctx context.Context, w StackWish) (stack.Statistics, string, error) {
	if p.s.opt.Stacks == nil {
		return stack.Statistics{}, "", errors.New("stacks cannot be sampled here")
	}
	if !p.turn.TryLock() {
		return stack.Statistics{}, "", errSampling
	}
	defer p.turn.Unlock()
	return p.sample(ctx, w)
}

// sample samples; the caller holds turn.
func (p *sampling) sample(ctx context.Context, w StackWish) (stack.Statistics, string, error) {
	s := p.s
	sampler, err := s.opt.Stacks()
	if err != nil {
		return stack.Statistics{}, "", err
	}
	from := s.opt.Machine.Now()
	r := stack.Recording{Now: s.opt.Machine.Now, Append: s.engine.Append}
	wish := w.wish()
	wish.Without = p.hungCalls()
	stats, err := r.Run(ctx, sampler, wish)
	p.hangs(stats.Hung)
	if err != nil && stats.Samples == 0 && len(stats.Hung) == 0 {
		return stats, "", err
	}
	p.counts.Add(&stats)
	e := stats.Event(from, s.opt.Machine.Now(), wish, w.About, w.Reason)
	s.engine.Event(e)
	return stats, e.Text, err
}

// hangs notes calls that did not return. The next recorder reads them in the status file.
func (p *sampling) hangs(calls []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, call := range calls {
		if !slices.Contains(p.hung, call) {
			p.hung = append(p.hung, call)
		}
	}
}

func (p *sampling) hungCalls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.hung)
}

// done keeps d for the status, which is written at once, because the command waits for it.
func (p *sampling) done(d Sampling) {
	d.At = p.s.opt.Machine.Now().Time()
	p.mu.Lock()
	p.last = d
	p.mu.Unlock()
	if d.Error != "" {
		p.s.log.Warn("stacks were not sampled", "of", d.About, "error", d.Error)
	}
	if err := p.s.writeStatus(false); err != nil {
		p.s.log.Debug("the status file cannot be written", "error", err)
	}
}

func (p *sampling) status() *Sampling {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.At.IsZero() {
		return nil
	}
	last := p.last
	return &last
}
