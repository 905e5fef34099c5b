package socket

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// spaces are the network namespaces besides the recorder's own.
type spaces struct {
	find func(each func(namespace uint64, pid int32))
	most int
	own  uint64
	list uint64 // numbers the lists
	// unread are those that cannot be read.
	unread map[uint64]unread
}

// unread says why a namespace is not read.
type unread struct {
	why error
	met uint64
}

var (
	errTooMany = errors.New("too many namespaces")
	errGone    = errors.New("the process has ended")
)

// Spaces has the lister read the network namespaces that find passes to each, with a process in
// them: at most this many besides the one that it was opened in. A namespace that is read ends
// only after the list that no longer finds a process in it.
func (l *DiagLister) Spaces(most int, find func(each func(namespace uint64, pid int32))) error {
	var own unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &own); err != nil {
		return fmt.Errorf("network namespaces: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spaces = spaces{find: find, most: most, own: own.Ino, unread: make(map[uint64]unread)}
	return nil
}

// visit enters the namespaces that are new, and leaves those that no process is in any more.
func (l *DiagLister) visit() {
	s := &l.spaces
	if s.find == nil {
		return
	}
	s.list++
	s.find(func(namespace uint64, pid int32) {
		if namespace == s.own || namespace == 0 {
			return
		}
		if r := l.rooms[namespace]; r != nil {
			r.met = s.list
			return
		}
		if u, ok := s.unread[namespace]; ok && u.why != errTooMany {
			s.unread[namespace] = unread{u.why, s.list}
			return
		}
		err := errTooMany
		if len(l.rooms) <= s.most {
			err = l.enter(namespace, pid)
		}
		switch {
		case err == nil:
			delete(s.unread, namespace)
		case err != errGone:
			s.unread[namespace] = unread{err, s.list}
		}
	})
	for _, r := range l.rooms {
		if r.namespace != 0 && r.met != s.list {
			l.leave(r)
		}
	}
	maps.DeleteFunc(s.unread, func(_ uint64, u unread) bool { return u.met != s.list })
}

// enter opens the namespace that a process is in.
func (l *DiagLister) enter(namespace uint64, pid int32) error {
	var r *room
	err := within(namespace, pid, func() (err error) {
		r, err = openRoom(namespace)
		return err
	})
	if err != nil {
		return err
	}
	r.met = l.spaces.list
	if err := l.add(r); err != nil {
		r.close()
		return err
	}
	return nil
}

// within calls do on a thread in the namespace.
func within(namespace uint64, pid int32, do func() error) error {
	space, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT || err == unix.ESRCH {
		return errGone
	}
	if err != nil {
		return err
	}
	defer unix.Close(space)
	var st unix.Stat_t
	if err := unix.Fstat(space, &st); err != nil || st.Ino != namespace {
		return errGone // another process has its number
	}
	done := make(chan error)
	go func() { done <- onThread(space, do) }()
	return <-done
}

// onThread calls do on this thread in a namespace. If the thread cannot go back, it ends with the
// goroutine, which remains locked to it.
func onThread(space int, do func() error) error {
	runtime.LockOSThread()
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer unix.Close(own)
	if err := unix.Setns(space, unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err = do()
	if unix.Setns(own, unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread()
	}
	return err
}

// Namespaces returns how many network namespaces are read, and how many are not.
func (l *DiagLister) Namespaces() (read, missing int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.rooms), len(l.spaces.unread)
}

// Notice implements Lister.
func (l *DiagLister) Notice() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	reasons := make(map[string]int)
	for _, u := range l.spaces.unread {
		switch {
		case u.why == errTooMany:
			reasons[fmt.Sprintf("at most %d are", l.spaces.most)]++
		case errors.Is(u.why, unix.EPERM) || errors.Is(u.why, unix.EACCES):
			reasons["entering them takes CAP_SYS_ADMIN and CAP_SYS_PTRACE"]++
		default:
			reasons[u.why.Error()]++
		}
	}
	var all []string
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		if n := reasons[why]; n == 1 {
			all = append(all, "1 network namespace is not read: "+why)
		} else {
			all = append(all, fmt.Sprintf("%d network namespaces are not read: %s", n, why))
		}
	}
	if l.untraced != nil {
		all = append(all, "which process began a connection that closed before it was listed is not known: "+l.untraced.Error())
	}
	return strings.Join(all, "; ")
}
