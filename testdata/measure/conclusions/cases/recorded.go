package cases

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tachograph/store"
)

// Recorded returns the incidents that really happened: those of testdata/incidents below root,
// those in dir unless it is empty, and those beside the repository, if there are any. What
// processes used in them is not known.
func Recorded(root, dir string) ([]*Case, []string, error) {
	var list []*Case
	var paths []string
	add := func(c *Case, path string) error {
		r, err := store.Open(path)
		if err != nil {
			return err
		}
		defer r.Close()
		infos := r.Archives()
		first, last := infos[0], infos[len(infos)-1]
		c.start = first.From
		c.Seconds = int((last.To - c.start) / 1e9)
		list, paths = append(list, c), append(paths, path)
		return nil
	}
	own, _ := filepath.Glob(filepath.Join(root, "testdata/incidents/*/incident.json"))
	if dir != "" {
		more, _ := filepath.Glob(filepath.Join(dir, "*/incident.json"))
		if len(more) == 0 {
			return nil, nil, fmt.Errorf("no incident.json in a directory of %s", dir)
		}
		own = append(own, more...)
	}
	for _, path := range own {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		var known struct {
			Name            string
			Onset, From, To time.Time
			Want            []string
		}
		if err := json.Unmarshal(text, &known); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		c := &Case{ID: "recorded-" + known.Name, Kind: "recorded: " + known.Name, Noise: "recorded", Strength: 1}
		c.Truth.All = known.Want
		if err := add(c, filepath.Dir(path)); err != nil {
			return nil, nil, err
		}
		c.Onset, c.Length = c.Second(known.Onset.UnixNano()), int(known.To.Sub(known.Onset).Seconds())
	}
	others, _ := filepath.Glob(filepath.Join(root, "../shared/incidents/*/note.txt"))
	for _, path := range others {
		c, err := noted(path)
		if err != nil {
			return nil, nil, err
		}
		if err := add(c, filepath.Join(filepath.Dir(path), "a.tacho")); err != nil {
			return nil, nil, err
		}
		if err := c.timed(filepath.Join(filepath.Dir(path), "times.txt")); err != nil {
			return nil, nil, err
		}
	}
	return list, paths, nil
}

// says are patterns for a line about an incident, by words of its note.
var says = []struct{ note, what string }{
	{"SIGSTOP", "stopp"}, {"EMFILE", "files|descriptors|EMFILE"}, {"OOM", "killed|memory"}, {"zombies", "zombie|defunct"}, {"quota", "quota|throttl|held back|cgroup"},
	{"fork", "began|fork|start"}, {"fill", "full|fill"}, {"threads", "threads"}, {"sync", "sync|flush|disk|wr"}, {"lock", "switch"}, {"listen", "listen|connections"},
}

// noted returns an incident by its note, which begins with the culprit.
func noted(path string) (*Case, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(filepath.Dir(path))
	c := &Case{ID: "shared-" + name, Kind: "shared: " + name, Noise: "recorded", Strength: 1}
	who, _, _ := strings.Cut(string(text), " ")
	c.Truth.Who = []string{who}
	for _, s := range says {
		if strings.Contains(string(text), s.note) {
			c.Truth.What = append(c.Truth.What, s.what)
			break
		}
	}
	return c, nil
}

var onsetAndEnd = regexp.MustCompile(`began (\d\d:\d\d:\d\d).*ended (\d\d:\d\d:\d\d)`)

// timed reads when an incident began and ended, on the day of its recording.
func (c *Case) timed(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	m := onsetAndEnd.FindStringSubmatch(string(text))
	if m == nil {
		return fmt.Errorf("%s: no times", path)
	}
	day := time.Unix(0, c.start).UTC().Format(time.DateOnly)
	var at [2]time.Time
	for i := range at {
		if at[i], err = time.Parse(time.DateTime, day+" "+m[i+1]); err != nil {
			return err
		}
	}
	c.Onset, c.Length = c.Second(at[0].UnixNano()), int(at[1].Sub(at[0]).Seconds())
	return nil
}
