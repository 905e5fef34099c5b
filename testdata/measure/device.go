package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// volume is a file system on its own block device, so that only a recorder causes what the
// device counts.
type volume struct {
	image, device, dir string
}

func (m *measure) newVolume(dir, name string) (*volume, error) {
	v := &volume{image: filepath.Join(dir, name+".img"), dir: filepath.Join(dir, name)}
	if err := os.Mkdir(v.dir, 0o755); err != nil {
		return nil, err
	}
	if err := shell(`truncate -s 1G "$1"`, v.image); err != nil {
		return nil, err
	}
	out, err := exec.Command("losetup", "--find", "--show", v.image).Output()
	if err != nil {
		return nil, fmt.Errorf("losetup: %w", err)
	}
	v.device = strings.TrimSpace(string(out))
	m.scratch = append(m.scratch, v.release)
	return v, shell(`mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$1" && mount "$1" "$2"`, v.device, v.dir)
}

func (v *volume) release() {
	_ = shell(`umount "$1"; losetup -d "$2"`, v.dir, v.device)
}

// written returns how many bytes the device got.
func (v *volume) written() (float64, error) {
	text, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(v.device), "stat"))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(text))
	if len(f) < 7 {
		return 0, errors.New("/sys/block/*/stat is shorter than known")
	}
	sectors, err := strconv.ParseFloat(f[6], 64)
	return sectors * 512, err
}

// writtenBy returns how many bytes a process passed to write(2).
func writtenBy(pid int) float64 {
	v, _ := strconv.ParseFloat(field(fmt.Sprintf("/proc/%d/io", pid), "wchar"), 64)
	return v
}

// device runs recorders, each on its own device, and compares what they write with what the
// devices count, from a minute on, when everything has started.
func (m *measure) device() error {
	if !root() {
		m.say("left out: it needs root")
		return nil
	}
	dir, err := os.MkdirTemp(m.work, "device")
	if err != nil {
		return err
	}
	m.scratch = append(m.scratch, func() { os.RemoveAll(dir) })
	load := &contender{}
	if err := load.start(nil, filepath.Join(m.work, "tools", "load"), "-processes", "440", "-forks", "10"); err != nil {
		return err
	}
	defer load.stop()
	config := filepath.Join(dir, "1s.toml")
	if err := os.WriteFile(config, []byte(everySecond), 0o644); err != nil {
		return err
	}
	type run struct {
		*contender
		*volume
		device, handed float64
	}
	var runs []*run
	defer func() {
		for _, r := range runs {
			r.stop()
		}
	}()
	for _, pace := range []string{"all at 1 s", "defaults"} {
		for _, b := range m.builds {
			v, err := m.newVolume(dir, b.name+"-"+pace[:3])
			if err != nil {
				return err
			}
			c := &contender{label: b.name + ", " + pace, build: b}
			args := []string{"run", "--archive", filepath.Join(v.dir, "archive")}
			if pace != "defaults" {
				args = append(args, "--config", config)
			}
			if err := c.start(nil, b.recorder(), args...); err != nil {
				return err
			}
			runs = append(runs, &run{contender: c, volume: v})
		}
	}
	m.wait(time.Minute)
	note := func(sign float64) error {
		for _, r := range runs {
			seen, err := r.written()
			if err != nil {
				return err
			}
			r.device += sign * seen
			r.handed += sign * writtenBy(r.commands[0].Process.Pid)
		}
		return nil
	}
	if err := note(-1); err != nil {
		return err
	}
	minutes := min(m.minutes, 6) // includes one seal
	m.wait(time.Duration(minutes) * time.Minute)
	if err := note(1); err != nil {
		return err
	}
	t := newTable("a minute, under load", "written, KB", "the device sees, KB", "for each byte", "must", "aim", "")
	for _, r := range runs {
		times := r.device / max(r.handed, 1)
		must, aim, met := "", "", ""
		if r.build.name == "now" {
			must, aim, met = "3", "2", verdict(times, 3, 2)
		}
		t.row(r.label, number(r.handed/1024/float64(minutes)), number(r.device/1024/float64(minutes)), number(times), must, aim, met)
	}
	m.tables["device"] = t.String()
	return nil
}
