package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
)

const mounts = `proc /proc proc rw,relatime 0 0
/dev/sda1 / ext4 rw,relatime 0 0
/dev/sdb1 /mnt/with\040blank\134 xfs ro,noatime 0 0
tmpfs /tmp tmpfs rw 0 0
tmpfs /proc/acpi tmpfs rw 0 0
tmpfs /sys/fs/cgroup tmpfs ro,nosuid 0 0
tank/home /home zfs rw,xattr 0 0
server:/export /net/data nfs4 rw,vers=4.2 0 0
server2:/export /net/dead nfs rw 0 0
broken
ext4 /odd ext4 rw 0 0
`

// The clocks are those of a bubble: only a server that does not answer at all is late.
func TestFilesystems(t *testing.T) { synctest.Test(t, testFilesystems) }

func testFilesystems(t *testing.T) {
	root := tree(t, map[string]string{"proc/self/mounts": mounts})
	f, err := newFilesystems(root)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	release := make(chan struct{})
	asked := make(map[string]*atomic.Int32)
	for _, dir := range []string{"/", "/tmp", "/mnt/with blank\\", "/home", "/net/data", "/net/dead"} {
		asked[dir] = new(atomic.Int32)
	}
	f.patient = 20 * time.Millisecond
	f.ask = func(path string, s *space) error {
		dir := strings.TrimPrefix(path, root)
		if asked[dir] == nil {
			t.Errorf("%q was asked", dir)
			return fs.ErrNotExist
		}
		asked[dir].Add(1)
		switch dir {
		case "/":
			*s = space{blockSize: 4096, fragmentSize: 1024, blocks: 1000, blocksFree: 400, blocksAvail: 200, files: 100, filesFree: 60}
		case "/tmp":
			*s = space{blockSize: 4096, fragmentSize: 4096, blocks: 100, blocksFree: 1, blocksAvail: 1, files: 100, filesFree: 60}
		case "/home":
			*s = space{blockSize: 512, fragmentSize: 512, blocks: 4001, blocksFree: 3, blocksAvail: 0, files: 5, filesFree: 9}
		case "/net/data":
			*s = space{blockSize: 1 << 20, fragmentSize: 1 << 20, blocks: 1 << 40, blocksFree: 1 << 40}
		case "/net/dead":
			<-release
			*s = space{blockSize: 1024, blocks: 7}
		default:
			return &fs.PathError{Op: "statfs", Path: path, Err: fs.ErrPermission}
		}
		return nil
	}
	var events []metric.Event
	c := clock(&events)
	got := readAll(t, c, f)
	blank := "/mnt/with blank\\"
	expect(t, got, map[cell]string{
		{"filesys.capacity", "/"}: "1000", {"filesys.used", "/"}: "600", {"filesys.free", "/"}: "400",
		{"filesys.avail", "/"}: "200", {"filesys.full", "/"}: "75", {"filesys.blocksize", "/"}: "4096",
		{"filesys.maxfiles", "/"}: "100", {"filesys.usedfiles", "/"}: "40", {"filesys.freefiles", "/"}: "60",
		{"filesys.mountdir", "/"}: "/", {"filesys.type", "/"}: "ext4", {"filesys.readonly", "/"}: "0",
		{"filesys.readonly", blank}: "1", {"filesys.capacity", blank}: "absent: permission denied",
		{"filesys.type", blank}:       "xfs",
		{"filesys.capacity", "/home"}: "2000", {"filesys.full", "/home"}: "100", {"filesys.usedfiles", "/home"}: "0",
		{"filesys.capacity", "/net/data"}: "1125899906842624",
		{"filesys.capacity", "/net/dead"}: "absent: timed out", {"filesys.type", "/net/dead"}: "nfs",
		{"filesys.full", "/tmp"}: "99", {"filesys.type", "/tmp"}: "tmpfs",
		{"hinv.nfilesys", ""}: "6",
	})
	for _, dir := range []string{"/proc", "/proc/acpi", "/sys/fs/cgroup", "/odd"} {
		if _, there := got[cell{"filesys.type", dir}]; there {
			t.Errorf("%s is listed", dir)
		}
	}

	// The source does not ask the dead server again, and does not wait for it.
	f.patient = time.Hour
	expect(t, readAll(t, c, f), map[cell]string{
		{"filesys.capacity", "/net/dead"}: "absent: timed out", {"filesys.capacity", "/net/data"}: "1125899906842624",
	})
	if n := asked["/net/dead"].Load(); n != 1 {
		t.Errorf("the dead server was asked %d times", n)
	}

	// The server answers again.
	close(release)
	dead := f.mounts.members["/net/dead"].data.remote
	a := <-dead.answers
	dead.answers <- a
	expect(t, readAll(t, c, f), map[cell]string{{"filesys.capacity", "/net/dead"}: "7"})

	write(t, root, "proc/self/mounts", "/dev/sda1 / ext4 rw 0 0\n/dev/sdc1 /home ext4 rw 0 0\n/dev/sdd1 /new vfat rw 0 0\n")
	asked["/new"] = new(atomic.Int32)
	before := len(events)
	readAll(t, c, f)
	var texts []string
	for _, e := range events[before:] {
		texts = append(texts, e.Text)
	}
	want := "tank/home was unmounted from /home; /dev/sdc1 was mounted on /home; /dev/sdd1 was mounted on /new; /dev/sdb1 was unmounted from /mnt/with blank\\; tmpfs was unmounted from /tmp; " +
		"server:/export was unmounted from /net/data; server2:/export was unmounted from /net/dead"
	if got := strings.Join(texts, "; "); got != want {
		t.Errorf("events: %s\nwant: %s", got, want)
	}
	// The volume mounted over another one has the row at every reading. The two do not
	// alternate.
	before = len(events)
	write(t, root, "proc/self/mounts", "/dev/sda1 / ext4 rw 0 0\n/dev/sde1 /home ext4 rw 0 0\n/dev/sdc1 /home ext4 rw 0 0\n/dev/sdd1 /new vfat rw 0 0\n")
	readAll(t, c, f)
	readAll(t, c, f)
	if len(events) != before {
		t.Errorf("events of volumes that stayed: %+v", events[before:])
	}
	if home := f.mounts.members["/home"]; home.in.Rev != 1 || home.in.Label("device") != "/dev/sdc1" {
		t.Errorf("/home is %+v", home.in)
	}
}

func TestKbytes(t *testing.T) {
	for _, c := range []struct{ blocks, size, want uint64 }{
		{10, 4096, 40}, {3, 512, 1}, {1 << 62, 512, 1 << 61}, {5, 1000, 4}, {0, 0, 0},
	} {
		t.Run(fmt.Sprintf("%d blocks of %d", c.blocks, c.size), func(t *testing.T) {
			if got := kbytes(c.blocks, c.size); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func FuzzMounts(f *testing.F) {
	for _, l := range strings.Split(mounts, "\n") {
		f.Add([]byte(l))
	}
	f.Add([]byte(`/dev/a /\0 ext4 rw`))
	f.Fuzz(func(t *testing.T, l []byte) {
		m, ok := parseMount(l)
		if ok && (len(m.device) == 0 || len(m.dir) == 0) {
			t.Errorf("parseMount(%q) = %q", l, m)
		}
		if got := unescape(nil, m.dir); len(got) > len(m.dir) {
			t.Errorf("unescape(%q) = %q", m.dir, got)
		}
		hasOption(m.options, "ro")
	})
}

func TestWhy(t *testing.T) {
	if why(errors.New("odd")) != metric.Other || why(nil) == metric.Present {
		t.Error("an error must not become a value")
	}
}
