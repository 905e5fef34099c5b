package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// dataset is what days are made of.
type dataset struct {
	name string   // as given on the command line
	path string   // for makedays
	days int      // that questions are about
	args []string // of makedays
	// tables ends the names of its tables; it is empty for a workstation, to which alone musts
	// and aims refer.
	tables string
}

// chooseDataset finds out what a dataset is. To try things out, all are smaller and shorter.
func (m *measure) chooseDataset(name string) (err error) {
	m.dataset = dataset{name: name, path: name, days: 1}
	d := &m.dataset
	if m.short {
		d.args = []string{"-day", "10m", "-processes", "30", "-round", "300"}
	}
	switch name {
	case "", "workstation":
		d.path = ""
	case "server":
		d.tables = " server"
	case "month":
		d.tables, d.days = " month", 30
		d.args = append(d.args, "-system", "30s", "-process", "60s")
		if m.short {
			d.days = 4
		}
		d.args = append(d.args, "-days", fmt.Sprint(d.days))
	case "mac":
		d.tables = " mac"
		d.path, err = m.recordMac()
	default:
		st, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("-dataset takes a recording, an archive, a directory of archives, or workstation, server, mac or month: %w", err)
		}
		if st.IsDir() || strings.HasSuffix(name, ".tacho") || strings.HasSuffix(name, ".live") {
			d.tables = " archive"
		} else if m.short {
			d.path = ""
		}
	}
	return err
}

// title returns the name of the dataset for a table.
func (d *dataset) title() string {
	switch d.name {
	case "", "workstation":
		return "a workstation that is made up"
	case "server":
		return "a server that is made up"
	case "month":
		return "a month of a laptop that is made up"
	case "mac":
		return "the simulated Mac"
	}
	return filepath.Base(d.name)
}

// day returns how long a day is.
func (m *measure) day() time.Duration {
	if m.short {
		return 10 * time.Minute
	}
	return 24 * time.Hour
}
