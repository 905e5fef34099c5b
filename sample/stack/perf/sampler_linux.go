package perf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/stack"
	"tachograph/sample/stack/unwind"
)

// Sampler is a stack.Sampler. Between sessions it remembers where the images of the last
// session are. Only one session at a time may use it.
type Sampler struct {
	images *images
	// For tests: the error of a kernel that allows no perf events, a file that does not answer, how
	// often calls are looked at, and how many stacks of waits are taken.
	refuse error
	open   func(path string) (*os.File, error)
	every  time.Duration
	stacks uint64
}

// New makes a Sampler.
func New() *Sampler { return &Sampler{open: os.Open, every: stack.HangLook, stacks: mostStacks} }

// session is one call of Sample.
type session struct {
	wish       stack.Wish
	give       func(*stack.Sample)
	calls      *calls
	open       func(path string) (*os.File, error)
	stacks     uint64 // of waits, that are taken at most
	statistics stack.Statistics
	events     *events // nil if the kernel allows none
	switches   *switches
	processes  *processes
	images     *images
	written    *written
	theKernel  *kernel // nil until the first frame needs it
	pythons    pythons

	frames []stack.Frame
	sample stack.Sample
	walker unwind.Walker
	chain  []uint64 // of a sample, as the kernel found it
	walked []uint64
	// Records taken from the rings, and where each begins.
	taken, kept []byte
	order       []span
}

type span struct {
	time     uint64
	from, to int
}

// pause is how long records stay in the rings: at the highest rate some dozens of samples per
// processor, of which the rings hold hundreds.
const pause = 40 * time.Millisecond

// sampling samples until the time is over. refuse is as in Sampler.
func (x *session) sampling(ctx context.Context, refuse error) error {
	x.statistics.How = "perf"
	threads, err := threadsOf(x.wish.PID)
	if err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		x.kernel() // before the session begins: it takes longer than the time between two looks
	}
	reason := refuse
	if hung := x.calls.hung(callEvents); hung != nil {
		reason = fmt.Errorf("%w: %w", errRefused, hung)
	}
	if reason == nil {
		reason = x.listen(threads)
	}
	switch {
	case reason == nil:
		defer x.events.close()
		if x.wish.PID != 0 {
			x.measure(threads)
		}
	case !errors.Is(reason, errRefused):
		return reason
	case x.wish.PID == 0 && os.Geteuid() != 0:
		return remedy(0, reason)
	default:
		x.statistics.How, x.statistics.Why = "proc", reason.Error()
	}
	err = x.run(ctx, reason)
	x.pythons.close(x.processes)
	x.statistics.Gone += x.processes.gone
	return err
}

// remedy says what to do if sampling is refused.
func remedy(pid int32, reason error) error {
	whom := "all processes"
	if pid != 0 {
		whom = fmt.Sprintf("process %d", pid)
	}
	return fmt.Errorf("stacks of %s cannot be sampled by this user: %w; run the recorder as root or with CAP_PERFMON and CAP_SYS_PTRACE", whom, reason)
}

// threadsOf returns the threads of a process; nil for all processes.
func threadsOf(pid int32) ([]int32, error) {
	if pid == 0 {
		return nil, nil
	}
	names, err := readNames(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil || len(names) == 0 || pid < 0 {
		return nil, fmt.Errorf("there is no process %d", pid)
	}
	return numbers(names), nil
}

// numbers returns the names that are numbers.
func numbers(names []string) []int32 {
	all := make([]int32, 0, len(names))
	for _, name := range names {
		if n, err := strconv.ParseInt(name, 10, 32); err == nil {
			all = append(all, int32(n))
		}
	}
	return all
}

// listen starts the kernel's sampling: of the threads of a process, or of everything.
func (x *session) listen(threads []int32) (err error) {
	cpus, err := processors()
	if err != nil {
		return err
	}
	if len(threads)*len(cpus) > mostEvents {
		// Other processes' samples arrive too, and are skipped.
		if x.events, err = listen(x.calls, x.wish.Rate, cpus, nil); err == nil || !errors.Is(err, errRefused) {
			return err
		}
	}
	if x.events, err = listen(x.calls, x.wish.Rate, cpus, threads); err != nil {
		return err
	}
	return x.catchUp(cpus, threads)
}

// catchUp follows the threads that were started, by a thread that was not yet followed, while
// listen went through the others: those that exist and that the kernel did not report.
func (x *session) catchUp(cpus []int, threads []int32) error {
	const rounds = 4 // each finds fewer
	known := make(map[int32]bool, len(threads))
	for _, tid := range threads {
		known[tid] = true
	}
	for range rounds {
		now, err := threadsOf(x.wish.PID)
		if err != nil || x.wish.PID == 0 {
			return nil // the process has ended, which is found out soon enough
		}
		from := len(x.kept)
		for i := range x.events.rings {
			x.kept = x.events.rings[i].drain(x.kept)
		}
		var r record
		for rec, rest := next(x.kept[from:]); rec != nil; rec, rest = next(rest) {
			if r.parse(rec) && r.kind == kindFork {
				known[r.tid] = true
			}
		}
		missed := 0
		for _, tid := range now {
			if known[tid] {
				continue
			}
			known[tid] = true
			missed++
			if err := x.events.follow(cpus, tid, leastPages); err != nil && !errors.Is(err, unix.ESRCH) {
				x.events.close()
				return fmt.Errorf("perf events: %w", err)
			}
		}
		if missed == 0 {
			break
		}
	}
	return nil
}

// run samples until the time is over.
func (x *session) run(ctx context.Context, reason error) error {
	rate := x.wish.Rate
	looks := looksOne
	if x.wish.PID == 0 {
		looks = looksAll
	}
	// A look counts as a whole number of the clock's samples.
	each := max(1, (rate+looks-1)/looks)
	w := &waiting{s: x, pid: x.wish.PID, count: uint32(each)}
	defer w.copier.close()
	between := time.Second * time.Duration(each) / time.Duration(rate)
	began := time.Now()
	end := began.Add(x.wish.For)
	ticks := time.NewTicker(min(pause, between))
	defer ticks.Stop()
	alive := true
	for next := began; alive; {
		now := time.Now()
		if !now.Before(next) {
			if late := int(now.Sub(next) / between); late > 0 {
				x.statistics.Missed += late * each
				next = next.Add(time.Duration(late) * between)
			}
			next = next.Add(between)
			x.drain(false) // what was a moment ago says where threads wait now
			alive = w.look()
			if reason != nil && w.denied && !w.could {
				return remedy(x.wish.PID, reason)
			}
		}
		x.drain(false)
		if !now.Before(end) {
			break
		}
		if w := x.pythons.arrivals; w != nil {
			w.wait(ctx, min(pause, between))
			alive = alive && ctx.Err() == nil
			continue
		}
		select {
		case <-ctx.Done():
			alive = false
		case <-ticks.C:
		}
	}
	x.drain(true)
	x.switches.finish()
	x.statistics.Rounds = int(min(time.Since(began), x.wish.For+pause).Seconds() * float64(rate))
	return nil
}

// drain takes in the kernel's records. Each processor writes in order, but one may be read
// before another: records younger than the beginning of this reading wait for the next, so that
// a mapping is known before the samples in it.
func (x *session) drain(last bool) {
	if x.events == nil {
		return
	}
	now := monotonic()
	if last {
		now = 1<<64 - 1
	}
	x.taken = append(roomy(x.taken[:0], len(x.kept)), x.kept...)
	clear(x.kept)
	x.kept, x.order = x.kept[:0], x.order[:0]
	x.sort(0)
	for i := range x.events.rings {
		from := len(x.taken)
		x.taken = x.events.rings[i].drain(x.taken)
		x.sort(from)
	}
	sort.SliceStable(x.order, func(i, j int) bool { return x.order[i].time < x.order[j].time })
	var r record
	for _, p := range x.order {
		switch b := x.taken[p.from:p.to]; {
		case p.time >= now:
			x.kept = append(roomy(x.kept, len(b)), b...)
		case r.parse(b):
			x.hear(&r)
		}
	}
	clear(x.taken)
	if !x.switches.drain(now) {
		x.processes.forget()
	}
}

// sort finds the records in what was taken from a ring.
func (x *session) sort(from int) {
	var r record
	for b := x.taken[from:]; ; {
		rec, rest := next(b)
		if rec == nil {
			return
		}
		if r.parse(rec) {
			x.order = append(x.order, span{r.time, from, from + len(rec)})
		}
		from += len(rec)
		b = rest
	}
}

func monotonic() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 1<<64 - 1
	}
	return uint64(t.Nano())
}

func (x *session) hear(r *record) {
	switch r.kind {
	case kindLost, kindLostSamples:
		x.statistics.Missed += int(min(r.lost, 1<<31))
	case kindSample:
		if x.wish.PID != 0 && r.pid != x.wish.PID {
			return
		}
		if r.pid <= 0 { // it has ended, or is in another namespace
			x.statistics.Gone++
			return
		}
		x.pythons.taken = r.time
		x.running(r)
		x.pythons.taken = 0
	default:
		x.processes.hear(r)
	}
}

// running gives a sample of a running thread.
func (x *session) running(r *record) {
	q := x.processes.get(r.pid)
	frames, end := x.stackOf(q, r)
	if len(frames) == 0 {
		x.statistics.Failed++
		x.statistics.Why = "the kernel found no stack"
		return
	}
	x.send(q, r.tid, stack.Sample{State: stack.Running, End: end, Frames: frames, Count: 1})
}

// stackOf returns the stack of a sample. The frames are valid until the next call.
func (x *session) stackOf(q *process, r *record) ([]stack.Frame, stack.End) {
	frames, chain := x.frames[:0], x.chain[:0]
	all, end := 0, stack.Whole
	r.frames(func(address uint64, kernel bool) {
		switch all++; {
		case end == stack.Broken || len(frames)+len(chain) >= stack.MaxDepth:
		case kernel:
			frames = append(frames, x.kernel().frame(address, len(frames) > 0))
		// An address in the chain that is not in code was no frame: the register held
		// something else.
		case len(chain) > 0 && x.processes.region(q, address) == nil && q.told:
			end = stack.Broken
		default:
			chain = append(chain, address)
		}
	})
	if x.chain = chain; all >= x.events.depth {
		end = stack.Truncated
	}
	user := chain
	if r.registers != nil {
		registers := own.content(r.registers)
		user, end = x.walk(q, &registers, r.stack, stack.MaxDepth-len(frames), chain, end)
	}
	for _, address := range user {
		frames = append(frames, x.user(q, address))
	}
	x.frames = frames
	return frames, end
}

// user returns the frame at address in a program's own code.
func (x *session) user(q *process, address uint64) stack.Frame {
	f := stack.Frame{Address: address}
	if r := x.processes.region(q, address); r != nil {
		f.Image = x.images.of(q.pid, r)
	}
	return f
}

func (x *session) kernel() *kernel {
	if x.theKernel == nil {
		x.theKernel = readKernel()
	}
	return x.theKernel
}

func (x *session) send(q *process, tid int32, s stack.Sample) {
	x.sample = s
	x.sample.Thread = x.thread(q, tid)
	x.written.name(q, x.sample.Frames)
	x.interpret(q, tid, &x.sample)
	x.statistics.Samples += int(s.Count)
	x.give(&x.sample)
}

// thread returns a thread of a process.
func (x *session) thread(q *process, tid int32) stack.Thread {
	x.processes.look(q)
	t := stack.Thread{PID: q.pid, Process: q.key, Command: q.command, TID: uint64(tid)}
	if name := x.processes.thread(q, tid); name != q.command {
		t.Name = name
	}
	return t
}

func (x *session) failed(err error) {
	x.statistics.Failed++
	x.statistics.Why = err.Error()
}
