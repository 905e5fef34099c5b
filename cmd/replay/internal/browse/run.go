package browse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v2"
)

const (
	// patience is how long an answer may take before the screen says that it is being waited
	// for; soon is the same if nothing else shows that a key was pressed.
	patience = 150 * time.Millisecond
	soon     = 40 * time.Millisecond
	// parting is how long to wait at the end for a question that is being answered.
	parting = 300 * time.Millisecond
	// mostAtOnce is how many events are handled before the screen is drawn.
	mostAtOnce = 512
)

// Run shows a recording on the terminal until the user quits or ctx ends.
func Run(ctx context.Context, opt Options) (Answer, error) {
	// A terminal with an unknown character set gets ASCII.
	tcell.SetEncodingFallback(tcell.EncodingFallbackASCII)
	s, err := tcell.NewScreen()
	if err == nil {
		err = s.Init()
	}
	if err != nil {
		return Answer{}, fmt.Errorf("this terminal (TERM=%s) cannot be drawn on: %w; replay at TIME prints a moment", os.Getenv("TERM"), err)
	}
	defer s.Fini() // also during a panic
	s.EnableMouse(tcell.MouseButtonEvents | tcell.MouseDragEvents)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTSTP, syscall.SIGCONT)
	defer signal.Stop(signals)
	events := make(chan tcell.Event, 64)
	done := make(chan struct{})
	defer close(done)
	go s.ChannelEvents(events, done)
	a := newApp(opt, &canvas{Screen: s, ascii: opt.ASCII, theme: newTheme(opt.Color)})
	err = a.loop(ctx, events, signals)
	answer := Answer{At: a.at, Busy: !a.w.close(parting)}
	if a.engine == nil {
		answer.At = 0
	}
	return answer, err
}

// loop handles events and draws the result.
func (a *app) loop(ctx context.Context, events <-chan tcell.Event, signals <-chan os.Signal) error {
	wait := time.NewTimer(time.Hour)
	defer wait.Stop()
	waiting := false
	var second <-chan time.Time // while the screen says how long nothing has come
	if a.Changed != nil {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		second = t.C
	}
	for !a.quit {
		a.draw()
		a.want()
		if a.needsSync {
			a.needsSync = false
			a.c.Sync()
		} else {
			a.c.Show()
		}
		switch _, busy := a.w.busy(); {
		case !busy:
			a.waited, waiting = 0, false
			wait.Stop()
		case !waiting:
			waiting = true
			wait.Reset(soon)
		}
		select {
		case e := <-events:
			if err := a.event(e); err != nil {
				return err
			}
			for range mostAtOnce { // Handle what was pressed meanwhile before drawing.
				select {
				case e := <-events:
					if err := a.event(e); err != nil {
						return err
					}
					continue
				default:
				}
				break
			}
		case answer := <-a.w.answers:
			answer()
		case <-a.Changed:
			a.refresh()
		case <-wait.C:
			if a.waited < soon {
				a.waited = soon
				wait.Reset(patience - soon)
				break
			}
			a.waited = patience
			a.spin++
			wait.Reset(2 * patience)
		case <-second:
		case s := <-signals:
			if s == syscall.SIGTSTP {
				if err := a.aside(); err != nil {
					return err
				}
			}
			a.needsSync = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return a.quitErr
}

// event handles an event of the terminal.
func (a *app) event(e tcell.Event) error {
	switch e := e.(type) {
	case *tcell.EventKey:
		if e.Key() == tcell.KeyCtrlZ {
			return a.aside()
		}
		a.key(e)
	case *tcell.EventMouse:
		a.mouse(e)
	case *tcell.EventResize:
		a.drag = nil
		a.needsSync = true
	case *tcell.EventError:
		return fmt.Errorf("the terminal is gone: %w", error(e))
	case nil:
		return errors.New("the terminal is gone")
	}
	return nil
}

// aside stops this program as Ctrl-Z does, after restoring the terminal.
func (a *app) aside() error {
	if err := a.c.Suspend(); err != nil {
		return fmt.Errorf("the terminal could not be given back: %w", err)
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGCONT)
	defer signal.Stop(again)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-again // This goroutine may go on for a moment before the whole program stops.
	if err := a.c.Resume(); err != nil {
		return fmt.Errorf("the terminal is gone: %w", err)
	}
	a.needsSync = true
	return nil
}

// refresh takes in what has been recorded since the last time.
func (a *app) refresh() {
	if a.engine == nil || a.w.asking(askRefresh) {
		a.again = a.engine != nil
		return
	}
	e := a.engine
	a.w.ask(askRefresh, "", func(context.Context) func() {
		err := a.Refresh()
		var x extent
		if err == nil {
			x = lookAround(e)
		}
		return func() {
			if err != nil {
				a.tell(err.Error(), true)
				return
			}
			a.refreshed(x)
			if a.again {
				a.again = false
				a.refresh()
			}
		}
	})
}
