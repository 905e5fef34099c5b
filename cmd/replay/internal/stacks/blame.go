package stacks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tachograph/cmd/replay/internal/human"
)

// Blame is a chain of threads, each of which waited for the next.
type Blame struct {
	Links []Link
	// Of is how long stacks were sampled, in nanoseconds.
	Of uint64
}

// Link is a thread that waited. The last one need not have waited: then it has no time.
type Link struct {
	Thread *Thread
	// Waited is for how many nanoseconds it waited for the thread of the next Link, or for what
	// For says: a call, in the words of the program or of the kernel.
	Waited uint64
	For    string
}

const (
	// leastBlame is the least share of the time sampled, and leastWait the least time, for which a
	// thread must have waited.
	leastBlame, leastWait = 0.2, 100e6
	// mostLinks bounds a chain.
	mostLinks = 4
)

// idle are the kernel's words for waits of threads that have nothing to do: for a time to come,
// or for work. They need no explanation.
var idle = map[string]bool{
	"hrtimer_nanosleep": true, "do_nanosleep": true, "ep_poll": true, "do_epoll_wait": true, "do_poll": true, "do_sys_poll": true, "do_select": true,
	"poll_schedule_timeout": true, "do_sigtimedwait": true, "sigsuspend": true, "do_wait": true, "pipe_read": true, "anon_pipe_read": true,
	"inet_csk_accept": true, "unix_stream_read_generic": true, "unix_stream_data_wait": true, "wait_woken": true, "n_tty_read": true,
	"__skb_wait_for_more_packets": true, "io_cqring_wait": true, "work queue": true, "mach port receive": true, "mach port set receive": true,
}

// who identifies a thread, whatever is known besides.
type who struct {
	process string
	pid     int
	tid     string
}

// whom is what a thread waited for: another thread, or what a call did.
type whom struct {
	who  who
	call string
	idle bool
}

// waiter is a thread that waited, with how many nanoseconds it waited for whom.
type waiter struct {
	thread *Thread
	on     map[whom]uint64
}

func (p *Profile) who(thread int32) who {
	t := &p.Threads[thread]
	return who{t.Process, t.PID, t.TID}
}

// waiters returns the threads, with what each waited for.
func (p *Profile) waiters() map[who]*waiter {
	all := make(map[who]*waiter)
	for i := range p.Stacks {
		k := &p.Stacks[i]
		me := p.who(k.Thread)
		w := all[me]
		if w == nil {
			w = &waiter{thread: &p.Threads[k.Thread], on: make(map[whom]uint64)}
			all[me] = w
		}
		if k.Waited == 0 {
			continue
		}
		word, _, _ := strings.Cut(k.Wait, " 0x")
		to := whom{call: p.call(k), idle: idle[word]}
		if k.Waker != nil && k.Waker.Thread >= 0 && p.who(k.Waker.Thread) != me {
			to = whom{who: p.who(k.Waker.Thread), idle: idle[word]}
		}
		w.on[to] = plus(w.on[to], k.Waited)
	}
	return all
}

// call names the call that a thread waited in: the program's innermost function, which is that of
// a library as a rule, else what the kernel says.
func (p *Profile) call(k *Stack) string {
	for at := k.Place; at >= 0; at = p.Places[at].Caller {
		if f := &p.Functions[p.Places[at].Function]; !f.Kernel && f.Symbol != "" && f.Name != "syscall" {
			return f.Name
		}
	}
	return cmp.Or(k.Wait, p.Functions[p.Places[k.Place].Function].Name)
}

// longest returns what a thread waited for longest; busy leaves out the waits of a thread that has
// nothing to do.
func (w *waiter) longest(busy bool) (to whom, waited uint64) {
	for x, n := range w.on {
		if busy && x.idle {
			continue
		}
		if n > waited || n == waited && (cmp.Or(cmp.Compare(x.call, to.call), cmp.Compare(x.who.tid, to.who.tid)) < 0) {
			to, waited = x, n
		}
	}
	return to, waited
}

// Blame returns who waited long for something that needs an explanation, and for whom: a
// process's main thread, if it did, else the thread that waited longest. ok reports whether any
// waited for a considerable share of the time.
func (p *Profile) Blame() (b Blame, ok bool) {
	b.Of = uint64(max(p.To-p.From, 0) + second)
	all := p.waiters()
	var first *waiter
	best := uint64(0)
	main := func(w *waiter) bool { return w.thread.TID == strconv.Itoa(w.thread.PID) }
	for _, w := range all {
		_, n := w.longest(true)
		if float64(n) < leastWait || float64(n) < leastBlame*float64(b.Of) {
			continue
		}
		if first != nil {
			order := cmp.Or(cmp.Compare(bit(main(w)), bit(main(first))), cmp.Compare(n, best), cmp.Compare(first.thread.TID, w.thread.TID))
			if order <= 0 {
				continue
			}
		}
		first, best = w, n
	}
	met := make(map[*waiter]bool)
	for w := first; w != nil && !met[w] && len(b.Links) < mostLinks; {
		met[w] = true
		to, n := w.longest(len(b.Links) == 0)
		// A thread that did not wait for half of the time for which another waited for it worked.
		if len(b.Links) > 0 && n < b.Links[len(b.Links)-1].Waited/2 {
			b.Links = append(b.Links, Link{Thread: w.thread})
			break
		}
		b.Links = append(b.Links, Link{Thread: w.thread, Waited: n, For: to.call})
		if to.call != "" {
			break
		}
		next := all[to.who]
		if next == nil || met[next] || len(b.Links) == mostLinks {
			i := slices.IndexFunc(p.Threads, func(t Thread) bool { return who{t.Process, t.PID, t.TID} == to.who })
			b.Links = append(b.Links, Link{Thread: &p.Threads[i]})
			break
		}
		w = next
	}
	return b, len(b.Links) > 0
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Sentence says who waited for whom, and for how long: "main of ledger (700) waited 4.1 s for
// worker-3, which waited 4 s for fsync".
func (b *Blame) Sentence() string {
	first := b.Links[0].Thread
	text := first.brief() + " of " + first.Title()
	for i, l := range b.Links {
		if l.Waited == 0 {
			break // it is named as what the one before waited for
		}
		if i > 0 {
			text += ", which"
		}
		text += " waited " + Waited.Amount(l.Waited) + " for " + l.For
		if l.For == "" {
			next := b.Links[i+1].Thread
			text += next.brief()
			if next.PID != first.PID {
				text += " of " + next.Title()
			}
		}
	}
	return fmt.Sprintf("%s; stacks were sampled for %s", text, human.Seconds(float64(b.Of)/1e9))
}

// brief names a thread within its process.
func (t *Thread) brief() string {
	switch {
	case t.Name != "":
		return t.Name
	case t.TID == strconv.Itoa(t.PID):
		return "main"
	}
	return "thread " + t.TID
}

// Command returns the arguments of replay that show the waits of the first process.
func (b *Blame) Command() []string {
	t := b.Links[0].Thread
	return []string{"stacks", cmp.Or(t.Key(), strconv.Itoa(t.PID)), "--waiting", "--by", string(ByThread)}
}
