package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/scope"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/fault"
	"tachograph/store/follow"
	"tachograph/store/query"
	"tachograph/store/recent"
)

// followFlags are the flags of commands that can follow a recording.
type followFlags struct {
	on  bool
	len string
}

func (f *followFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVarP(&f.on, "follow", "f", false, "go on with what is being recorded, until Ctrl-C, --to or the end of --for")
	fl.StringVar(&f.len, "for", "", "with --follow: for how long (30s, 10m, 1h)")
}

// check refuses flags that make sense only with --follow.
func (f *followFlags) check() error {
	if f.len != "" && !f.on {
		return errors.New("--for says how long to --follow")
	}
	return nil
}

// followHelp is the part of the help texts that these commands share.
const followHelp = `--follow prints each value as the recorder records it, through rotations, restarts
and reboots. With --from it first prints what the window holds, else it begins now.
It waits where there is no archive yet, says when no more values come, and ends at
--to, after --for, with Ctrl-C (as tail -f does: the status for a shell is 130), or
when the program that reads its output has ended.`

// clocks are continuous clocks by class. The clock of a tick differs from those of the groups
// read for it, because groups are read one after the other.
type clocks [metric.NumClasses]int64

// following is the state of a command that follows a recording.
type following struct {
	a      *app
	src    follower
	begin  follow.Position // everything after it is delivered
	read   clocks          // when each class was last read, up to begin
	first  *archive.Item   // an item that was delivered before run; nil for none
	recent *recent.Archive
	host   string       // ID of the host that is followed
	over   bool         // the archives are finished: nothing can be added
	goesOn func() error // called before the command waits for what is being recorded, at least once
	until  int64        // wall clock at which following ends; 0 for no end
	// concerns chooses the distrusts to print when they begin; nil prints none.
	concerns func(*query.Distrust) bool

	items chan archive.Item
	taken chan struct{}
	fail  error // why there are no more items
	calls chan func() error

	pace pace
}

// errEnough ends a command that has followed for as long as it should, or that the user quit.
var errEnough = errors.New("enough")

// shows is implemented by the commands that show delivered items.
type shows interface {
	// tick is called when a tick has been added to the kept ones, and before the next is.
	tick(class metric.Class) error
	event(info *store.ArchiveInfo, e *metric.Event) error
	// end is called when enough has been shown.
	end() error
	// present is called when everything delivered so far has been shown.
	present() error
}

// follow begins to follow the archives that the command line names. It waits for an archive if
// there is none yet.
func (a *app) follow(ctx context.Context, flags *followFlags, args ...string) (*following, error) {
	if a.To != "" && flags.len != "" {
		return nil, fmt.Errorf("--to and --for both say when to end: give one of them")
	}
	f := &following{a: a, pace: pace{clock: a.clock, say: a.tell}, items: make(chan archive.Item), taken: make(chan struct{}), calls: make(chan func() error)}
	f.goesOn = func() error { return nil }
	if a.toFollow != nil {
		var err error
		if f.goesOn, err = a.toFollow(); err != nil {
			return nil, err
		}
	}
	err := a.load(args...)
	if fault.Of(err) == fault.NotFound {
		err = f.await(ctx, args)
	} else if err == nil {
		if f.over = finished(a); !f.over {
			a.collector.following()
			err = f.open()
		} else if a.From == "" {
			err = errFinished(a.Paths)
		}
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// open follows the host that --host names, or else the one recorded last.
func (f *following) open() error {
	a := f.a
	hosts, err := a.HostIDs()
	if err != nil {
		return err
	}
	if len(hosts) > 1 {
		return fmt.Errorf("--host %s: %d hosts match; follow one of them", strings.Join(a.Hosts, ", "), len(hosts))
	}
	opt := follow.Options{Standing: true, Complete: catalog.Complete}
	if len(hosts) == 1 {
		opt.Host = hosts[0]
	}
	if f.src, err = a.follows(opt, a.Paths...); err != nil {
		return err
	}
	f.begin = f.src.Position()
	for _, info := range a.Archive.Archives() {
		if info.ID == f.begin.Archive {
			f.host = info.Host.ID
		}
	}
	return nil
}

// await waits for the first archive in directories that hold none yet.
func (f *following) await(ctx context.Context, args []string) error {
	a := f.a
	paths, err := a.Locate(args)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if st, err := os.Stat(p); err != nil || !st.IsDir() {
			return fmt.Errorf("there is no archive in %s", strings.Join(paths, ", "))
		}
	}
	a.complain(fmt.Sprintf("replay: there is no archive in %s yet: waiting for one", strings.Join(paths, ", ")))
	if f.src, err = a.follows(follow.Options{Standing: true, Complete: catalog.Complete, Wait: true}, paths...); err != nil {
		return err
	}
	if err := f.goesOn(); err != nil {
		return err
	}
	for f.first == nil {
		it, err := f.src.Next(ctx)
		if err != nil {
			return err
		}
		if it.Archive != nil && !it.Present {
			f.first, f.host = &it, it.Archive.Host.ID
			f.begin = follow.Position{Archive: it.Archive.ID} // everything comes after it
		}
	}
	return a.load(args...)
}

// window returns the window to show before the new values. The window may still be empty.
func (f *following) window(flags *followFlags) (query.Window, error) {
	a := f.a
	w, err := a.Window()
	if empty := (*scope.Error)(nil); errors.As(err, &empty) && (empty.Kind == scope.Outside || empty.Kind == scope.Unreadable) {
		a.Used, err = w, nil
	}
	f.until = w.To
	if err == nil && flags.len != "" {
		var d time.Duration
		if d, err = when.Duration(flags.len); err == nil && d <= 0 {
			err = fmt.Errorf("it must be longer than nothing")
		}
		if err != nil {
			return w, fmt.Errorf("--for: %w", err)
		}
		f.until = a.Now().Add(d).UnixNano()
	}
	if f.host != "" {
		w.Hosts = []string{f.host}
	}
	return w, err
}

// finished reports whether nothing can be added to the named archives: all of them are files,
// and all are finished.
func finished(a *app) bool {
	for _, p := range a.Paths {
		if st, err := os.Stat(p); err != nil || !st.Mode().IsRegular() {
			return false
		}
	}
	return !slices.ContainsFunc(a.Archive.Archives(), func(info *store.ArchiveInfo) bool { return info.Live })
}

// errFinished is the error that there is nothing to wait for.
func errFinished(paths []string) error {
	what := "the archive is"
	if len(paths) > 1 {
		what = "the archives are"
	}
	return fmt.Errorf("%s finished: nothing will be added to %s; leave --follow out, or name the directory that is recorded into", what, strings.Join(paths, ", "))
}

// keep begins to keep delivered items, and takes in the standing values at the beginning.
func (f *following) keep(ctx context.Context, keep recent.Keep) error {
	f.recent = recent.New(keep)
	for _, d := range f.a.Archive.Metrics() {
		if d.Formula != "" || keep.Metric(d) {
			f.recent.Describe(d)
		}
	}
	for _, info := range f.a.Archive.Archives() {
		if info.Host.ID == f.host {
			f.pace.of(info)
		}
	}
	for f.first == nil && !f.over {
		it, err := f.src.Next(ctx)
		if err != nil {
			return err
		}
		if !it.Standing {
			f.first = &it
			break
		}
		f.recent.Add(&it)
		if it.Tick != nil {
			f.pace.past(it.Tick)
			for _, b := range it.Tick.Blocks {
				f.read[it.Tick.Class] = max(f.read[it.Tick.Class], b.At.Cont)
			}
		}
	}
	return nil
}

// goOn ends a command whose archives are finished; otherwise it shows what is delivered.
func (f *following) goOn(ctx context.Context, s shows) error {
	if f.over {
		f.a.tell(errFinished(f.a.Paths).Error())
		return nil
	}
	return f.run(ctx, s)
}

// fitted is implemented by writers that fit their rows to a terminal.
type fitted interface{ Resize(width, height int) }

// fit fits rows to the terminal whenever its size changes.
func (f *following) fit(rows out.Writer) (stop func()) {
	table, ok := rows.(fitted)
	file, is := f.a.stdout.Unwrap().(*os.File)
	if !ok || !is || f.a.width == 0 {
		return func() {}
	}
	sizes := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(sizes, syscall.SIGWINCH)
	resize := func() error {
		if width, height, ok := terminalSize(file, os.Getenv); ok {
			table.Resize(width, height)
		}
		return nil
	}
	go func() {
		for {
			select {
			case <-sizes:
				select {
				case f.calls <- resize:
				case <-done:
					return
				}
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(sizes); close(done) }
}

// settle is how long to wait for more items that belong to a tick: events found in its values
// are recorded right after it.
const settle = 5 * time.Millisecond

// run shows what is delivered until ctx ends, errEnough is returned, or nothing more can come.
func (f *following) run(ctx context.Context, s shows) error {
	if err := f.goesOn(); err != nil {
		return err
	}
	f.pace.start()
	defer f.pace.stop()
	ctx, cancel := context.WithCancel(ctx)
	go f.deliver(ctx)
	defer func() {
		cancel()
		for range f.items { // Wait until deliver no longer uses the follower, which may then be closed.
		}
	}()
	pending := metric.NumClasses // class of the tick that is not shown yet
	show := func() error {
		class := pending
		if pending = metric.NumClasses; class == metric.NumClasses {
			return nil
		}
		return s.tick(class)
	}
	rest := time.NewTimer(time.Hour)
	defer rest.Stop()
	for {
		var err error
		select {
		case it, ok := <-f.items:
			if !ok {
				err = errors.Join(show(), s.present())
				if err == nil {
					err = f.fail
				}
				return err
			}
			if it.Present {
				rest.Reset(settle)
			} else {
				rest.Reset(settle)
				if it.Tick != nil {
					err = show()
				}
				if err == nil {
					err = f.take(&it, s, &pending)
				}
			}
			select {
			case f.taken <- struct{}{}:
			case <-ctx.Done(): // deliver no longer waits.
			}
		case <-rest.C:
			if err = show(); err == nil {
				err = s.present()
			}
		case call := <-f.calls:
			err = call()
		case <-f.pace.timer.C:
			f.pace.silent()
		case <-ctx.Done():
			err = ctx.Err()
		}
		switch {
		case err == errEnough:
			return errors.Join(s.end(), s.present())
		case err != nil:
			return err
		}
	}
}

// take handles one item.
func (f *following) take(it *archive.Item, s shows, pending *metric.Class) error {
	switch {
	case it.Lost != nil:
		f.a.complain(fmt.Sprintf("replay: something was recorded and cannot be read: %v", it.Lost))
	case it.Tick != nil:
		f.recent.Add(it)
		if it.Standing {
			return nil
		}
		if f.until != 0 && it.Tick.At.Wall > f.until {
			return errEnough
		}
		f.pace.tick(it.Tick)
		*pending = it.Tick.Class
	case it.Event != nil && !it.Standing:
		f.recent.Add(it)
		if f.until != 0 && it.Event.At.Wall > f.until {
			return nil
		}
		f.pace.event(it.Event)
		if it.Event.Kind == metric.EventDistrustBegin {
			f.tellDoubt(query.DistrustOf(&store.Event{Event: *it.Event, Archive: it.Archive}))
		}
		return s.event(it.Archive, it.Event)
	}
	return nil
}

// doubt prints the distrusts that last when following begins, and arranges that later ones are
// printed when they begin. concerns chooses those that matter to the answer.
func (f *following) doubt(concerns func(*query.Distrust) bool) {
	f.concerns = concerns
	for _, d := range query.Distrusts(f.a.Archive, query.Window{Hosts: []string{f.host}}) {
		if d.To == 0 {
			f.tellDoubt(d)
		}
	}
}

func (f *following) tellDoubt(d *query.Distrust) {
	if f.concerns != nil && f.concerns(d) {
		f.a.tell(f.a.doubt(d))
	}
}

// deliver passes the follower's items to run, one after the other.
func (f *following) deliver(ctx context.Context) {
	defer close(f.items)
	hand := func(it archive.Item) bool {
		select {
		case f.items <- it:
		case <-ctx.Done():
			return false
		}
		select {
		case <-f.taken:
			return true
		case <-ctx.Done():
			return false
		}
	}
	if f.first != nil && !hand(*f.first) {
		return
	}
	for {
		it, err := f.src.Next(ctx)
		if err != nil {
			f.fail = err
			return
		}
		if !hand(it) {
			f.fail = ctx.Err()
			return
		}
	}
}

func (f *following) close() {
	if f.src != nil {
		_ = f.src.Close()
	}
}

// release closes the archives: from here on the follower delivers everything.
func (f *following) release() {
	a := f.a
	a.Zone()
	a.tellDamage()
	if a.Close != nil {
		_ = a.Close()
		a.Close = nil
	}
	a.Archive = present{f.recent}
	a.collector.following()
}

// present takes the place of the archives after they are closed. It holds the items that the
// follower delivered last.
type present struct{ *recent.Archive }

func (present) Losses() []store.Loss { return nil }
func (present) Refresh() error       { return nil }
func (present) Close() error         { return nil }
