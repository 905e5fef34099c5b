package proc

import (
	"os/user"
	"strconv"
	"sync"
	"time"
)

// directory names users or groups. It looks first in the file of system accounts. People's
// accounts are in directory services, which may have to ask another machine: directory never
// waits for that longer than patience, and returns the number until the answer has come.
type directory struct {
	file   idNames
	lookup func(id string) (string, error)

	sync.Mutex
	asked   map[uint32]bool
	found   map[uint32]string
	numbers map[uint32]string // the ids themselves, for ids without a name
}

const patience = 100 * time.Millisecond

func newDirectory(file string, lookup func(string) (string, error)) *directory {
	d := &directory{
		file: idNames{path: file}, lookup: lookup,
		asked: make(map[uint32]bool), found: make(map[uint32]string),
		numbers: make(map[uint32]string),
	}
	d.file.refresh()
	return d
}

func lookupUser(id string) (string, error) {
	u, err := user.LookupId(id)
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

func lookupGroup(id string) (string, error) {
	g, err := user.LookupGroupId(id)
	if err != nil {
		return "", err
	}
	return g.Name, nil
}

func (d *directory) name(id uint32) string {
	if d.file.has(id) {
		return d.file.name(id)
	}
	d.Lock()
	name, found := d.found[id]
	asked := d.asked[id]
	d.asked[id] = true
	d.Unlock()
	if found {
		return name
	}
	if !asked {
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			if name, err := d.lookup(strconv.FormatUint(uint64(id), 10)); err == nil {
				d.Lock()
				d.found[id] = name
				d.Unlock()
			}
		}()
		select {
		case <-answered:
		case <-time.After(patience):
		}
		d.Lock()
		name, found = d.found[id]
		d.Unlock()
		if found {
			return name
		}
	}
	d.Lock()
	defer d.Unlock()
	if s, ok := d.numbers[id]; ok {
		return s
	}
	d.numbers[id] = strconv.FormatUint(uint64(id), 10)
	return d.numbers[id]
}
