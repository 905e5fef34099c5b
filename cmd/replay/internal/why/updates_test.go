package why

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// An update of a program that then uses more is the reason, in the first line; others are mentioned
// where something followed.
func TestUpdates(t *testing.T) {
	const (
		nginx = "event 601s software | nginx 1.26.3-1 → 1.28.0-1 (dpkg) | source=dpkg what=changed package=nginx was=1.26.3-1 is=1.28.0-1"
		vim   = "event 601s software | vim-tiny 9.1 → 9.2 (dpkg) | source=dpkg what=changed package=vim-tiny was=9.1 is=9.2"
		early = "event 120s software | nginx 1.26.3-1 → 1.28.0-1 (dpkg) | source=dpkg what=changed package=nginx was=1.26.3-1 is=1.28.0-1"
		crash = "event 640s crash | nginx (pid 80) died of SIGSEGV | rule=segfault name=nginx pid=80 service=nginx.service"
	)
	busy := map[string]string{"kernel.all.cpu.user": "rate=1100 noise=0.1", "proc.psinfo.utime[80]": "rate=950000000"}
	memory := map[string]string{"proc.memory.rss[80]": "level=1500000", "mem.util.available": "level=10700000"}
	slight := map[string]string{"proc.memory.rss[80]": "level=280000"}
	for _, c := range []struct {
		name    string
		trouble map[string]string
		more    []string
		first   string // the first line has it; empty: nothing is found
		second  string
	}{
		{"a runaway", busy, []string{nginx}, ", since nginx 1.26.3-1 → 1.28.0-1 (dpkg) at 03:10:01", ""},
		{"a crash", nil, []string{nginx, crash}, ", since nginx 1.26.3-1 → 1.28.0-1 (dpkg) at 03:10:01", ""},
		{"of another program", busy, []string{vim}, "nginx (pid 80", "software at 03:10:01: vim-tiny 9.1 → 9.2 (dpkg)"},
		{"memory", memory, []string{nginx}, "nginx (pid 80", ""},
		{"nothing changed", slight, []string{nginx}, "", ""},
		{"nothing happened", nil, []string{nginx, vim}, "", ""},
		{"before the window", nil, []string{early}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := recording(t, saidOrdinary, c.trouble, append(strings.Split(saidMetrics, "\n"), c.more...)...)
			answer := ask(t, a, Request{Window: window})
			if answer.Found != (c.first != "") {
				t.Fatalf("%+v", answer.Lines)
			}
			if !strings.Contains(answer.Lines[0].Text, c.first) || strings.Contains(answer.Lines[0].Text, "software at") {
				t.Errorf("%q", answer.Lines[0].Text)
			}
			if c.second != "" && (len(answer.Lines) < 2 || answer.Lines[1].Text != c.second) || c.second == "" && len(answer.Lines) > 1 {
				t.Errorf("lines: %+v", answer.Lines)
			}
		})
	}
}

// A program that has used more ever since its update is found in a window hours after it.
func TestUpdateHoursBefore(t *testing.T) {
	for _, c := range []struct {
		pack string
		want string
	}{
		{"nginx", "nginx uses 3 times the memory since nginx 1.26 → 1.28 (dpkg) at 04:00:00: 1.69 GB instead of 569 MB"},
		{"vim-tiny", ""},
	} {
		var b strings.Builder
		b.WriteString(strings.NewReplacer("interval fast 1s", "interval fast 10s", "interval process 5s", "interval process 1m").Replace(host))
		b.WriteString("instance process 80 000080 nginx pid=80 parent=1 start=2026-11-20T02:10:00Z uid=0\n")
		b.WriteString("instance process 81 000081 nginx pid=81 parent=1 start=2026-11-20T04:00:00Z uid=0\n")
		fmt.Fprintf(&b, "event 1h software | %s 1.26 → 1.28 (dpkg) | what=changed package=%s was=1.26 is=1.28\n", c.pack, c.pack)
		for _, part := range []struct{ from, to, nginx string }{{"0s", "1h", "proc.memory.rss[80] level=600000"}, {"1h1s", "9h", "proc.memory.rss[81] level=1800000"}} {
			for _, class := range [][2]string{{"fast", "10s"}, {"process", "1m"}} {
				fmt.Fprintf(&b, "every %s %s %s %s\n", class[1], part.from, part.to, class[0])
				for _, d := range quiet {
					if d.class == class[0] {
						fmt.Fprintf(&b, "  %s %s\n", d.metric, d.form)
					}
				}
				if class[0] == "process" {
					key := part.nginx[strings.Index(part.nginx, "["):strings.Index(part.nginx, " ")]
					fmt.Fprintf(&b, "  %s\n  proc.psinfo.utime%s rate=10000000\n  proc.psinfo.stime%s rate=1000000\n", part.nginx, key, key)
				}
			}
		}
		parts, err := querytest.Parse(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		answer := ask(t, querytest.New(parts...), Request{Window: query.Window{From: minute(360), To: minute(420)}})
		if answer.Found != (c.want != "") || answer.Found && answer.Lines[0].Text != c.want {
			t.Errorf("%s: %+v", c.pack, answer.Lines)
		}
	}
}

func TestProgramsOfPackages(t *testing.T) {
	for _, c := range []struct {
		pack, program string
		is            bool
	}{
		{"nginx", "nginx", true}, {"nginx", "nginx.service", true}, {"nginx-core", "nginx", true}, {"nginx:amd64", "nginx", true},
		{"mysql-server-8.0", "mysqld", true}, {"postgresql-16", "postgres", true}, {"python3.12", "python3", true}, {"containerd.io", "containerd", true},
		{"Google Chrome", "Google Chrome", true}, {"firefox-esr", "firefox", true}, {"docker-ce", "dockerd", true}, {"gcc", "gcc", true},
		{"nginx-doc", "nginx", false}, {"certbot-nginx", "nginx", false}, {"go", "gopls", false}, {"linux-image-6.1", "linux", false},
		{"libssl3", "ssl", false}, {"vim-tiny", "vim", false}, {"ssh", "sshd", false}, {"", "", false}, {"123", "", false}, {"nginx", "", false}, {"systemd-timesyncd", "systemd", false},
	} {
		if got := (&update{program: c.pack}).of(c.program); got != c.is {
			t.Errorf("%s of %s: %v", c.program, c.pack, got)
		}
	}
}
