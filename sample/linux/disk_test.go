package linux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

const diskstats = `   7       0 loop0 9 0 9 9 9 0 9 9 0 9 9 0 0 0 0 0 0
   8       0 sda 100 10 2001 300 50 5 1001 70 2 400 500 7 8 9 10 11 12
   1       0 ram0 9 0 9 9 9 0 9 9 0 9 9 0 0 0 0 0 0
 253       1 zram0 7 0 5600 9 7 0 5600 9 0 9 9 0 0 0 0 0 0
   8       1 sda1 100 10 2000 300 50 5 1000 70 2 400 500 7 8 9 10 11 12
 253       0 dm-0 100 10 2000 300 50 5 1000 70 2 400 500 7 8 9 10 11 12
   9       0 md127 100 10 2000 300 50 5 1000 70 2 400 500 7 8 9 10 11 12
 259       0 nvme0n1 1000 0 4000 4294967290 0 0 0 0 1 0 0 0 0 0 0 0 0
 259       1 nvme0n1p1 1000 0 4000 30 0 0 0 0 1 0 0 0 0 0 0 0 0
 104       0 cciss/c0d0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
`

func diskTree(t testing.TB) string {
	return tree(t, map[string]string{
		"proc/diskstats":                     diskstats,
		"sys/block/sda/size":                 "2048\n",
		"sys/block/sda/queue/scheduler":      "none [mq-deadline] kyber\n",
		"sys/block/sda/queue/rotational":     "1\n",
		"sys/block/sda/device/model":         "Spinner 9000   \n",
		"sys/block/nvme0n1/size":             "4096\n",
		"sys/block/nvme0n1/queue/scheduler":  "none\n",
		"sys/block/cciss!c0d0/size":          "0\n",
		"sys/block/dm-0/size":                "1\n",
		"sys/block/zram0/size":               "1\n",
		"sys/block/ram0/size":                "1\n",
		"sys/block/cciss!c0d0/queue/unknown": "",
	})
}

func TestDisks(t *testing.T) {
	root := diskTree(t)
	d, err := newDisks(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var events []metric.Event
	c := clock(&events)
	got := readAll(t, c, d)
	expect(t, got, map[cell]string{
		{"disk.dev.read", "sda"}: "100", {"disk.dev.total", "sda"}: "150", {"disk.dev.blkread", "sda"}: "2001",
		{"disk.dev.read_bytes", "sda"}: "1000", {"disk.dev.write_bytes", "sda"}: "500", {"disk.dev.total_bytes", "sda"}: "1501",
		{"disk.dev.total_read_time", "sda"}: "300", {"disk.dev.total_time", "sda"}: "370", {"disk.dev.aveq", "sda"}: "500",
		{"disk.dev.inflight", "sda"}: "2", {"disk.dev.flush", "sda"}: "11", {"disk.dev.discard_bytes", "sda"}: "4",
		{"disk.dev.capacity", "sda"}: "1024", {"disk.dev.scheduler", "sda"}: "mq-deadline",
		{"disk.dev.scheduler", "nvme0n1"}:      "none",
		{"disk.dev.scheduler", "cciss/c0d0"}:   "absent: unsupported",
		{"disk.dev.read_rawactive", "nvme0n1"}: "4294967290",
		{"disk.all.read", ""}:                  "1101", {"disk.all.inflight", ""}: "3", {"hinv.ndisk", ""}: "3",
		{"disk.all.read_rawactive", ""}: "4294967590",
	})
	for _, name := range []string{"loop0", "ram0", "zram0", "sda1", "dm-0", "md127", "nvme0n1p1"} {
		if _, there := got[cell{"disk.dev.read", name}]; there {
			t.Errorf("%s counts as a disk", name)
		}
	}
	if m := d.members.members["sda"]; m.in.Label("model") != "Spinner 9000" || m.in.Label("rotational") != "1" {
		t.Errorf("labels of sda: %v", m.in.Labels)
	}
	if len(events) != 0 {
		t.Errorf("events at the start: %v", events)
	}

	// One disk leaves, one comes, and a 32-bit time wraps. The sums continue.
	os.Remove(filepath.Join(root, "sys/block/sda"))
	write(t, root, "sys/block/sdb/size", "2\n")
	write(t, root, "proc/diskstats", "   8 16 sdb 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n 259 0 nvme0n1 1001 0 4000 4 0 0 0 0 0 0 0 0 0 0 0 0 0\n")
	got = readAll(t, c, d)
	expect(t, got, map[cell]string{
		{"disk.dev.read_rawactive", "nvme0n1"}: "4",
		{"disk.all.read", ""}:                  "1107",       // 101 of the disk that left, 1001, 5
		{"disk.all.read_rawactive", ""}:        "4294967600", // 300 of the disk that left, 2^32 and 4
		{"disk.all.inflight", ""}:              "0", {"hinv.ndisk", ""}: "2",
	})
	var texts []string
	for _, e := range events {
		texts = append(texts, e.Text)
	}
	if got := strings.Join(texts, "; "); got != "disk sdb appeared; disk sda went away; disk cciss/c0d0 went away" {
		t.Errorf("events: %s", got)
	}
}

// Without any disk there is nothing to add up. The sum is absent until there is a disk
// again, and then continues.
func TestTotalsWithoutDisks(t *testing.T) {
	root := diskTree(t)
	d, err := newDisks(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c := clock(nil)
	readAll(t, c, d)
	write(t, root, "proc/diskstats", "")
	expect(t, readAll(t, c, d), map[cell]string{
		{"disk.all.read", ""}: "absent: there is no disk", {"disk.all.inflight", ""}: "absent: there is no disk", {"hinv.ndisk", ""}: "0",
	})
	write(t, root, "proc/diskstats", diskstats)
	expect(t, readAll(t, c, d), map[cell]string{{"disk.all.read", ""}: "2202"})
}

func TestDisksWithoutSys(t *testing.T) {
	d, err := newDisks(tree(t, map[string]string{"proc/diskstats": diskstats}))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var names []string
	readAll(t, clock(nil), d)
	for _, m := range d.members.live {
		names = append(names, m.in.Name)
	}
	if got := strings.Join(names, " "); got != "sda nvme0n1" {
		t.Errorf("disks by name alone: %s", got)
	}
}

func TestDisksOfAnOldKernel(t *testing.T) {
	d, err := newDisks(tree(t, map[string]string{"proc/diskstats": "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n"}))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i, c := range diskColumns {
		if unsupported := d.per.Metrics[i].Unsupported != ""; unsupported != (c.a > 10) {
			t.Errorf("%s: unsupported is %v", c.name, unsupported)
		}
	}
	expect(t, readAll(t, clock(nil), d), map[cell]string{{"disk.dev.aveq", "sda"}: "11"})
}

func FuzzDisks(f *testing.F) {
	f.Add([]byte(diskstats))
	f.Add([]byte("8 0\n8 0 sda\n8 0 sda -1\n  \n"))
	root := diskTree(f)
	d, err := newDisks(root)
	if err != nil {
		f.Fatal(err)
	}
	fs := framesOf(d)
	f.Fuzz(func(t *testing.T, data []byte) {
		d.file.close()
		d.file = newFile(filepath.Join(root, "fuzzed"))
		write(t, root, "fuzzed", string(data))
		if err := d.Read(clock(nil), fs); err != nil {
			t.Fatal(err)
		}
	})
}
