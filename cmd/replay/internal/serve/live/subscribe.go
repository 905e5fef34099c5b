package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/serve/budget"
	"tachograph/cmd/replay/internal/serve/selection"
	"tachograph/cmd/replay/internal/serve/status"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/follow"
)

// A Publisher serves LiveService.Subscribe.
type Publisher struct {
	Hub *Hub
	// Catalogue returns what can be selected now.
	Catalogue func() (*selection.Catalogue, error)
	// Follow opens a follower of the hub's host, at a position and with standing values, for a client
	// that has been away.
	Follow func(from follow.Position, classes []metric.Class) (Follower, error)
	// Oldest returns the oldest position, for the error to a client whose own is gone; nil: the
	// error does not have it.
	Oldest func() (follow.Position, error)
	// Most is the most subscribers at a time; 0: 500.
	Most int
	// Log gets errors of the archive.
	Log *slog.Logger

	subscribers atomic.Int64
	once        sync.Once
	turns       chan struct{} // for opening archives
	begins      chan struct{} // for resolving selections and reading the present values
}

// Limits of what a client may ask for.
const (
	mostSubscribers  = 500
	longestInterval  = 24 * time.Hour
	shortestBeat     = 100 * time.Millisecond
	longestBeat      = time.Hour
	ordinaryBeat     = 15 * time.Second
	eventsTogether   = time.Second
	longestToken     = 600
	mostBehindPrompt = 5 * time.Second
)

// Subscribe implements LiveService.Subscribe.
func (p *Publisher) Subscribe(ctx context.Context, req *connect.Request[tachographv1.SubscribeRequest], out *connect.ServerStream[tachographv1.SubscribeResponse]) error {
	return p.Stream(ctx, req.Msg, out.Send)
}

// Stream answers a request with frames until ctx ends, the client cannot be reached, or the
// server stops. The message that send gets is valid until send returns.
func (p *Publisher) Stream(ctx context.Context, req *tachographv1.SubscribeRequest, send func(*tachographv1.SubscribeResponse) error) error {
	return p.stream(ctx, req, cost{row: 40, cell: 8}, send)
}

// A cost is the memory that a stream keeps for each row and for each value in it.
type cost struct{ row, cell int64 }

func (p *Publisher) stream(ctx context.Context, req *tachographv1.SubscribeRequest, each cost, send func(*tachographv1.SubscribeResponse) error) error {
	most := int64(p.Most)
	if most == 0 {
		most = mostSubscribers
	}
	defer p.subscribers.Add(-1)
	if p.subscribers.Add(1) > most {
		return status.TooMany(5*time.Second, "there are %d subscribers, which is as many as this server has; come back later", most)
	}
	s := &stream{Publisher: p, ctx: ctx, account: budget.Of(ctx), each: each, send: send, beat: ordinaryBeat}
	p.once.Do(func() {
		p.turns, p.begins = make(chan struct{}, openAtOnce), make(chan struct{}, beginAtOnce)
	})
	defer s.begun()
	if err := s.waitToBegin(); err != nil {
		return err
	}
	from, err := s.read(req)
	s.begun()
	if err != nil {
		return err
	}
	defer p.Hub.Use()()
	err = s.run(ctx, from)
	switch {
	case errors.As(err, new(*connect.Error)):
		return err
	case errors.Is(err, ErrStopped):
		return connect.NewError(connect.CodeUnavailable, errors.New("the server is being stopped: come back with the last position"))
	case ctx.Err() != nil:
		return err
	}
	if p.Log != nil {
		p.Log.Warn("a subscription has ended", "why", err)
	}
	return connect.NewError(connect.CodeUnavailable, err)
}

// A stream is one client.
type stream struct {
	*Publisher
	feed
	ctx       context.Context
	account   *budget.Account
	each      cost
	kept      int64  // bytes that were reserved for what the stream keeps
	rows      uint32 // how many rows had been announced by then
	beginning bool   // the stream has a turn of begins
	send      func(*tachographv1.SubscribeResponse) error
	sent      time.Time
	beat      time.Duration
	bad       []*tachographv1.ItemError
	cur       cursor
	// ahead is the position that the client already has, while the hub is a little behind it.
	// The hub's steps up to there are skipped.
	ahead *follow.Position
	since time.Time // when ahead was set
	// first is the archive and the continuous clock of the first tick in it that the client was
	// sent.
	first struct {
		archive string
		cont    int64
	}
}

// read parses the request.
func (s *stream) read(req *tachographv1.SubscribeRequest) (from follow.Position, err error) {
	if len(req.Position) > longestToken {
		return from, status.Invalid("position", "it has %d letters, more than any position has: use one as it was given", len(req.Position))
	}
	if from, err = parseMark(req.Position); err != nil {
		return from, status.Invalid("position", "%v", err)
	}
	if d := req.Heartbeat; d != nil {
		s.beat = d.AsDuration()
		if d.CheckValid() != nil || s.beat < shortestBeat || s.beat > longestBeat {
			return from, status.Invalid("heartbeat", "it must be between %v and %v", shortestBeat, longestBeat)
		}
	}
	if d := req.Interval; d != nil {
		if s.every = int64(d.AsDuration()); d.CheckValid() != nil || s.every < 0 || s.every > int64(longestInterval) {
			return from, status.Invalid("interval", "it must be more than nothing and at most %v", longestInterval)
		}
	}
	catalogue, err := s.Catalogue()
	if err != nil {
		return from, connect.NewError(connect.CodeUnavailable, err)
	}
	chosen, err := catalogue.Choose(req.Selection, false)
	if err != nil {
		return from, err
	}
	if err := s.account.Keep(int64(len(chosen.Metrics)) * ofMetric); err != nil {
		return from, err
	}
	s.bad = chosen.Errors
	if len(chosen.Metrics) == 0 && !req.Events && !req.ProcessEvents {
		if len(s.bad) > 0 {
			return from, status.Errorf(connect.CodeNotFound, "NOTHING_SELECTED", "nothing is selected: %s", s.bad[0].Message)
		}
		return from, status.Errorf(connect.CodeNotFound, "NOTHING_SELECTED", "nothing is selected, as nothing has been recorded")
	}
	s.enc = newEncoder(wish{metrics: chosen.Metrics, instance: chosen.Instance, exact: req.ExactTimes})
	s.events, s.processes = req.Events, req.ProcessEvents
	s.feed.send = s.deliver
	return from, nil
}

// inMemory is how many bytes of memory a byte of a message takes until it is sent.
const inMemory = 4

// deliver sends a message of about size bytes. It reserves memory for it until the client has
// taken it.
func (s *stream) deliver(m *tachographv1.SubscribeResponse, size int) error {
	if err := s.keep(); err != nil {
		return err
	}
	s.begun() // from here on it waits for memory or for the client
	bytes := int64(size) * inMemory
	if err := s.account.Wait(s.ctx, bytes); err != nil {
		return err
	}
	defer s.account.Give(bytes)
	s.sent = time.Now()
	return s.send(m)
}

// ofMetric is how many bytes a stream keeps for each metric that is wanted.
const ofMetric = 256

// beginAtOnce is how many streams at a time resolve their selections and read the present values.
// More would take memory, and make all of them and others wait.
const beginAtOnce = 4

// waitToBegin waits for the stream's turn, which begun ends.
func (s *stream) waitToBegin() error {
	if s.beginning {
		return nil
	}
	select {
	case s.begins <- struct{}{}:
		s.beginning = true
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

func (s *stream) begun() {
	if s.beginning {
		s.beginning = false
		<-s.begins
	}
}

// keep reserves memory for what the stream keeps of the state. If the request leaves instances
// out, it reserves as much as for all of them.
func (s *stream) keep() error {
	if s.state == nil || s.kept != 0 && s.rows == s.enc.rows {
		return nil
	}
	s.rows = s.enc.rows
	bytes := int64(1)
	seen := make(map[int]bool)
	for _, d := range s.enc.metrics {
		w, ok := s.state.plan.metrics[d.Name]
		if !ok || s.state.blocks[w.place] == nil {
			continue
		}
		n := int64(len(s.state.blocks[w.place].Rows))
		bytes += n * s.each.cell
		if !seen[w.place] {
			seen[w.place] = true
			bytes += n * s.each.row
		}
	}
	s.account.Give(s.kept - bytes)
	if more := bytes - s.kept; more > 0 {
		if err := s.account.Keep(more); err != nil {
			return err
		}
	}
	s.kept = bytes
	return nil
}

// run streams from a position on, or from now on if it is zero.
func (s *stream) run(ctx context.Context, from follow.Position) error {
	for {
		state, cur, err := s.Hub.attach(ctx)
		if err != nil {
			return err
		}
		if err := s.waitToBegin(); err != nil {
			return err
		}
		s.adopt(state)
		if err := s.checkInterval(); err != nil {
			return err
		}
		if err := s.keep(); err != nil {
			return err
		}
		if from.Archive == "" {
			s.cur = cur
			err = s.begin(state, state.Position, s.bad)
		} else {
			err = s.catchUp(ctx, from)
		}
		if err == nil {
			err = s.follow(ctx)
		}
		if !errors.Is(err, errAnew) {
			return err
		}
		from = s.pos
	}
}

// checkInterval refuses an interval shorter than the shortest at which anything selected is
// recorded.
func (s *stream) checkInterval() error {
	if s.every == 0 || s.every >= s.fastest || s.fastest == int64(metric.Once) {
		return nil
	}
	least := time.Duration(s.fastest)
	err := status.Invalid("interval", "%v is shorter than the shortest interval at which something of this selection is recorded, which is %v", time.Duration(s.every), least)
	if d, problem := connect.NewErrorDetail(&errdetails.ErrorInfo{Reason: "INTERVAL_TOO_SHORT", Domain: "tachograph", Metadata: map[string]string{"shortest": fmt.Sprintf("%gs", least.Seconds())}}); problem == nil {
		err.AddDetail(d)
	}
	return err
}

// follow sends what is recorded from now on.
func (s *stream) follow(ctx context.Context) error {
	timer := time.NewTimer(s.beat)
	defer timer.Stop()
	var buf []*step
	var waits time.Time // since when something is due soon
	for {
		until := s.sent.Add(s.beat)
		if s.waiting() {
			if waits.IsZero() {
				waits = time.Now()
			}
			soon := waits.Add(eventsTogether)
			if s.settle != 0 {
				soon = waits.Add(min(time.Duration(s.fastest/4), settling))
			}
			if soon.Before(until) {
				until = soon
			}
		} else {
			waits = time.Time{}
		}
		timer.Reset(time.Until(until))
		var latest *State
		var err error
		buf, latest, err = s.Hub.next(ctx, &s.cur, buf[:0], timer.C)
		switch {
		case errors.Is(err, errTime):
			err = s.timeout()
		case latest != nil:
			err = s.merge(latest)
		}
		for i := 0; i < len(buf) && err == nil; i++ {
			err = s.step(buf[i])
			buf[i] = nil
		}
		if err != nil {
			return err
		}
	}
}

// timeout sends what was waiting, or an empty frame.
func (s *stream) timeout() error {
	if s.waiting() {
		return s.emit(nil)
	}
	if err := s.Hub.trouble(); err != nil {
		return err
	}
	return s.idle()
}

// step takes a step of the hub, unless the client already has it.
func (s *stream) step(st *step) error {
	if s.ahead == nil {
		return s.take(st)
	}
	had := has(s.ahead, st)
	if reached(&st.Position, s.ahead) {
		s.ahead = nil
	} else if time.Since(s.since) > mostBehindPrompt {
		return errAnew // the hub has another order than the follower had
	}
	if had {
		s.skip(st.State)
		return nil
	}
	return s.take(st)
}

// delivered is an item with the position after it.
type delivered struct {
	archive.Item
	at follow.Position
}

// catchUp sends what was recorded after from, until it reaches the present.
func (s *stream) catchUp(ctx context.Context, from follow.Position) error {
	at := from
	for c := range at.Ticks { // the client knows nothing of these classes
		if at.Ticks[c] == 0 {
			for _, t := range from.Ticks {
				at.Ticks[c] = max(at.Ticks[c], t)
			}
		}
	}
	f, err := s.open(ctx, s.before(at))
	if err != nil {
		return s.refused(err)
	}
	defer f.Close()
	s.catching = true
	a := newAssembler(func(name string) bool { return s.enc.wanted[name] != nil })
	began := false
	var early []delivered
	for {
		it, err := f.Next(ctx)
		if err != nil {
			return s.refused(err)
		}
		pos := f.Position()
		it.Standing = it.Standing || !began && isBefore(&it, pos, &at)
		if it.Event != nil && !began && !it.Present {
			// Ticks before the position, which were added before this event, may still come.
			e := *it.Event
			it.Event = &e
			early = append(early, delivered{it, pos})
			continue
		}
		if !it.Standing && !began {
			began = true
			if err := s.hostIsSame(&it); err != nil {
				return err
			}
			a.standing()
			state := a.state
			if s.enc.told != nil {
				s.adopt(&state) // the client has this state
			} else if err := s.begin(&state, from, s.bad); err != nil {
				return err
			}
		}
		if it.Standing {
			a.take(&it, pos)
			continue
		}
		if t := it.Tick; t != nil && (s.first.archive != pos.Archive || t.At.Cont < s.first.cont) {
			s.first.archive, s.first.cont = pos.Archive, t.At.Cont
		}
		for _, e := range append(early, delivered{it, pos}) {
			if err := s.take(a.take(&e.Item, e.at)); err != nil {
				return err
			}
		}
		early = nil
		if it.Present && s.settle == 0 {
			if there, err := s.present(ctx); there || err != nil {
				return err
			}
		}
	}
}

// openAtOnce is how many archives are opened at a time for clients that come back. More would
// only make all of them wait.
const openAtOnce = 4

// open opens a follower for this client alone.
func (s *stream) open(ctx context.Context, at follow.Position) (Follower, error) {
	select {
	case s.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.turns }()
	return s.Follow(at, s.classes())
}

// before returns the position to read from so that values computed from several ticks are known
// at p.
func (s *stream) before(p follow.Position) follow.Position {
	computed := false
	for _, d := range s.enc.metrics {
		computed = computed || d.Formula != ""
	}
	if !computed || s.state.Archive == nil {
		return p
	}
	for c, every := range s.state.Archive.Intervals {
		if p.Ticks[c] != 0 && every > 0 && every < longestInterval {
			p.Ticks[c] -= int64(every) * 5 / 2
		}
	}
	return p
}

// present goes over to the hub, if the hub is where the client is or a little behind.
func (s *stream) present(ctx context.Context) (bool, error) {
	state, cur, err := s.Hub.attach(ctx)
	if err != nil {
		return false, err
	}
	hub, mine := &state.Position, &s.pos
	switch {
	case hub.Archive != mine.Archive && (s.Hub.passed(mine.Archive) || state.Archive.From > s.state.Archive.From):
		return false, nil // the follower will also get to the next archive
	case hub.Archive == mine.Archive && !s.covers(mine, hub):
		return false, nil
	}
	s.cur, s.ahead, s.since = cur, nil, time.Now()
	if !reached(hub, mine) {
		ahead := *mine
		s.ahead = &ahead
	}
	s.catching = false
	s.skip(state)                                                 // count from the hub's counters from here on
	return true, s.emit(func(*tachographv1.SubscribeResponse) {}) // empty or not
}

// refused returns the error for a client whose position cannot be continued from.
func (s *stream) refused(err error) error {
	if !errors.Is(err, follow.ErrGone) {
		return err
	}
	refusal := status.Errorf(connect.CodeOutOfRange, "POSITION_GONE", "what was recorded from this position on is not there any more: begin without a position, or at the oldest (in the details)")
	if s.Oldest == nil {
		return refusal
	}
	if oldest, problem := s.Oldest(); problem == nil {
		if d, problem := connect.NewErrorDetail(&errdetails.ErrorInfo{Reason: "OLDEST_POSITION", Domain: "tachograph", Metadata: map[string]string{"position": oldest.String()}}); problem == nil {
			refusal.AddDetail(d)
		}
	}
	return refusal
}

// hostIsSame refuses a position of a host other than the followed one.
func (s *stream) hostIsSame(it *archive.Item) error {
	now := s.state.Archive
	if it.Archive == nil || now == nil || it.Archive.Host.ID == now.Host.ID {
		return nil
	}
	return status.Errorf(connect.CodeFailedPrecondition, "OTHER_HOST", "the position is in a recording of host %s, and this is one of %s: begin without a position",
		shortly(it.Archive.Host.Name), shortly(now.Host.Name))
}

func shortly(s string) string { return strings.ToValidUTF8(s[:min(len(s), 100)], "") }

// OldestPosition returns the position before everything in the archives of the host that was
// recorded last.
func OldestPosition(paths ...string) (follow.Position, error) {
	r, err := store.Open(paths...)
	if err != nil {
		return follow.Position{}, err
	}
	defer r.Close()
	list := r.Archives()
	host := list[len(list)-1].Host.ID
	for _, a := range list {
		if a.Host.ID == host {
			return follow.Position{Archive: a.ID}, nil
		}
	}
	return follow.Position{}, nil
}
