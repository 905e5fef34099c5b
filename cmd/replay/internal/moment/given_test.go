package moment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
)

// countdown is a context that ends after it has been looked at so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Whenever a question is given up, asked again it has the same answer as if it never
// had been: nothing is kept of what was read by halves.
func TestWhatIsGivenUpIsAskedAgain(t *testing.T) {
	for _, file := range []string{"mac.txt", "long.txt"} {
		fresh := open(t, file, "")
		from, to := fresh.Span()
		m, err := fresh.At(to)
		if err != nil {
			t.Fatal(err)
		}
		asks := map[string]func(*Recording) (string, error){
			"peak": func(r *Recording) (string, error) {
				at, x, ok, err := r.Peak(r.Lanes()[0].Name, from, to)
				return fmt.Sprint(at, x, ok), err
			},
			"difference": func(r *Recording) (string, error) {
				list, err := r.Diff(from, to)
				text := ""
				for _, c := range list {
					text += fmt.Sprintln(c.Kind, c.Subject, c.Before, c.After)
				}
				return text, err
			},
		}
		if len(m.Processes) > 0 {
			key := m.Processes[0].Key
			asks["life"] = func(r *Recording) (string, error) {
				l, err := r.Life(key)
				for err == nil && l.Rough {
					l, err = r.Life(key)
				}
				if err != nil {
					return "", err
				}
				return fmt.Sprint(l.PID, l.Name, l.From, l.To, len(l.Rows), l.Parents, l.Children, l.More), nil
			}
		}
		for name, ask := range asks {
			want, err := ask(open(t, file, ""))
			if err != nil {
				t.Fatal(err)
			}
			r, given := open(t, file, ""), 0
			for after := 0; ; after++ {
				r.Until(&countdown{context.Background(), after})
				got, err := ask(r)
				r.Until(context.Background())
				if err == nil {
					if got != want {
						t.Errorf("%s, %s after %d were given up: %s, want %s", file, name, given, got, want)
					}
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("%s, %s given up: %v", file, name, err)
				}
				given++
			}
			if given == 0 {
				t.Errorf("%s, %s cannot be given up", file, name)
			}
			if got, err := ask(r); err != nil || got != want {
				t.Errorf("%s, %s asked again: %s, %v, want %s", file, name, got, err, want)
			}
		}
	}
}

// A search that is given up goes on where it was, and how much it has seen of what
// there is only grows.
func TestHoldsGoesOnWhereItWas(t *testing.T) {
	for _, forward := range []bool{true, false} {
		const nowhere = "mem.util.used > 1 TB"
		r := open(t, "mac.txt", "")
		from, to := r.Span()
		at := from
		if !forward {
			at = to
		}
		r.search = &search{condition: nowhere, forward: forward, at: at, edge: at, length: block / 60, open: make(map[string]span)}
		share, given := 0.0, 0
		for {
			_, _, ok, err := r.Holds(&countdown{context.Background(), 1}, nowhere, at, forward)
			if err == nil {
				if ok {
					t.Error("it holds somewhere")
				}
				break
			}
			if now := r.Progress(); now < share || math.IsNaN(now) || now > 1 {
				t.Fatalf("it has seen %g after %g", now, share)
			} else {
				share = now
			}
			if given++; given > 1000 {
				t.Fatal("it never ends")
			}
		}
		if most := int((to-from)/(block/60)) + 1; given < 2 || given > most {
			t.Errorf("given up %d times in %d minutes", given, most)
		}
	}
	// Another question is none that goes on.
	r := open(t, "mac.txt", "")
	from, to := r.Span()
	want, _, ok, err := open(t, "mac.txt", "").Holds(context.Background(), "rate(kernel.all.cpu.user) > 0.8", from, true)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	_, _, _, _ = r.Holds(&countdown{context.Background(), 1}, "mem.util.used > 1 TB", to, false)
	if got, _, ok, err := r.Holds(context.Background(), "rate(kernel.all.cpu.user) > 0.8", from, true); got != want || !ok || err != nil {
		t.Errorf("%d %v %v, want %d", got, ok, err, want)
	}
}
