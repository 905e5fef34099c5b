package launchd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/launchd"
)

// TestTheAgentForPCPComesAndGoes: the service runs if its file was there and was loaded, it
// is loaded once, and it can be removed without the recorder.
func TestTheAgentForPCPComesAndGoes(t *testing.T) {
	for _, manager := range []string{"launchd", "systemd"} {
		t.Run(manager, func(t *testing.T) {
			m := newMachine(t, manager)
			agent := m.in.Manager.Job(m.in.Layout, launchd.Agent)
			running := func(want bool) {
				t.Helper()
				if st, err := agent.State(); err != nil || st.Running != want {
					t.Errorf("state %+v, %v", st, err)
				}
			}
			running(false)
			if err := agent.Unload(); err != nil {
				t.Errorf("it is not there: %v", err)
			}
			files, err := m.in.Manager.Describe(m.in.Layout, launchd.PMDA{Program: m.in.Layout.Recorder(), Domains: []uint32{500}, Group: "pcp"})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				path := filepath.Join(m.in.Root, f.Path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, f.Content, f.Mode); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := agent.Load(); err != nil {
					t.Fatal(err)
				}
				running(true)
			}
			// An upgrade of all services makes the agent run the new program.
			before := len(m.calls())
			m.install(t)
			if calls := strings.Join(m.calls()[before:], "|"); !strings.Contains(calls, "pmda") {
				t.Errorf("an upgrade: %s", calls)
			}
			running(true)
			if err := agent.Unload(); err != nil {
				t.Fatal(err)
			}
			running(false)
			if calls := strings.Join(m.calls(), "|"); !strings.Contains(calls, "pmda") {
				t.Error(calls)
			}
		})
	}
}
