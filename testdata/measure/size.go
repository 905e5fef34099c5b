package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// recordings are the recordings whose size is measured.
var recordings = []struct {
	label, args string
	dataset     bool // it needs a dataset
	must, aim   float64
	plain       bool // other projects store it, too
}{
	{"the dataset, all each second", "-process 1s -once", true, 0.038, 0.034, true},
	{"the dataset, processes every 10 s", "-process 10s -once", true, 0.105, 0.095, true},
	{"40 minutes of a machine that is made up, processes every 10 s", "-day 40m -seed 2", false, 0, 0, true},
	{"24 hours", "", true, 0.105, 0.09, false},
}

// size records with the ordinary Writer and computes how many bytes of the whole file each value
// takes. Other programs compress the same values as columns.
func (m *measure) size() error {
	t := newTable("bytes per value, whole file", "values", "before", "now", "file, B", "xz -9e", "zpaq -m5", "must", "aim", "")
	for i, r := range recordings {
		path := m.dataset.path
		if !r.dataset {
			path = ""
		}
		if r.args != "" && (m.dataset.tables != "" || r.dataset && path == "") {
			continue
		}
		args := strings.Fields(r.args)
		if m.short || r.args == "" {
			args = append(args, m.dataset.args...)
		}
		name := fmt.Sprintf("size%d", i)
		if r.args == "" {
			name = "day" // also used for questions
		}
		cells := map[string]float64{}
		var now *made
		for _, b := range m.builds {
			d, err := m.makeOf(b, path, name, args...)
			if err != nil {
				return err
			}
			now, cells[b.name] = d, float64(d.bytes())/float64(d.values())
		}
		xz, zpaq := "-", "-"
		if r.plain {
			var err error
			if xz, zpaq, err = m.compressed(path, args, now); err != nil {
				return err
			}
		}
		before := "-"
		if len(m.builds) > 1 {
			before = figure(cells["before"])
		}
		must, aim, met := "-", "-", ""
		if r.must > 0 && m.dataset.tables == "" {
			must, aim, met = number(r.must), number(r.aim), verdict(cells["now"], r.must, r.aim)
		}
		label := r.label
		if m.dataset.days > 1 {
			label = fmt.Sprintf("%d days", m.dataset.days)
		}
		t.row(label, number(float64(now.values())), before, figure(cells["now"]), number(float64(now.bytes())), xz, zpaq, must, aim, met)
	}
	m.table("size", t.String())
	return nil
}

func figure(v float64) string { return fmt.Sprintf("%.4f", v) }

// compressed returns what the columns of d take when other programs compress them.
func (m *measure) compressed(dataset string, args []string, d *made) (xz, zpaq string, err error) {
	plain := filepath.Join(m.work, "columns")
	out, err := os.Create(plain)
	if err != nil {
		return "", "", err
	}
	defer os.Remove(plain)
	cmd := exec.Command(filepath.Join(m.work, "tools", "plain"), append(args, "-dataset", dataset)...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", "", err
	}
	if err := out.Close(); err != nil {
		return "", "", err
	}
	one := func(program string, args ...string) (string, error) {
		if _, err := exec.LookPath(program); err != nil || !m.peers {
			return "-", nil
		}
		m.say("%s", program)
		packed := plain + "." + program
		defer os.Remove(packed)
		if err := shell(`packed=$1; shift; case $1 in xz) "$@" >"$packed";; *) "$@";; esac`, append([]string{packed, program}, args...)...); err != nil {
			return "", err
		}
		st, err := os.Stat(packed)
		if err != nil {
			return "", err
		}
		return figure(float64(st.Size()) / float64(d.values())), nil
	}
	if xz, err = one("xz", "-9e", "-k", "-c", plain); err != nil {
		return "", "", err
	}
	zpaq, err = one("zpaq", "a", plain+".zpaq", plain, "-m5", "-t1")
	return xz, zpaq, err
}
