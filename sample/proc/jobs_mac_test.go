package proc

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
)

func TestLaunchdJobs(t *testing.T) {
	root := t.TempDir()
	job := func(name, label, program string) {
		writeBelow(t, root, name, "<dict><key>Label</key><string>"+label+"</string><key>Program</key><string>"+program+"</string></dict>")
	}
	job("/System/Library/LaunchDaemons/com.apple.logd.plist", "com.apple.logd", "/usr/libexec/logd")
	job("/Library/LaunchDaemons/org.nginx.plist", "org.nginx", "/usr/local/sbin/nginx")
	job("/Library/LaunchDaemons/readme.txt", "no", "/no")
	job("/Users/ana/Library/LaunchAgents/agent.plist", "com.ana.agent", "/Users/ana/agent")
	writeBelow(t, root, "/Library/LaunchAgents/broken.plist", "?")
	if err := syscall.Mkfifo(filepath.Join(root, "Library/LaunchDaemons/pipe.plist"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := newLaunchdJobs(root)
	now := metric.Stamp{Cont: 1}
	synctest.Test(t, func(t *testing.T) {
		look := func(want map[string]string) {
			t.Helper()
			l.look(now)
			synctest.Wait()
			jobs := l.look(now)
			for program, label := range want {
				if got := jobs.Label(program); got != label {
					t.Errorf("%s is %q, want %q", program, got, label)
				}
			}
		}
		look(map[string]string{
			"/usr/libexec/logd": "com.apple.logd", "/usr/local/sbin/nginx": "org.nginx", "/Users/ana/agent": "com.ana.agent", "/no": "",
		})
		before := l.look(now)
		job("/Library/LaunchDaemons/new.plist", "new", "/usr/local/sbin/new")
		folder := filepath.Join(root, "Library/LaunchDaemons")
		if err := os.Chtimes(folder, time.Time{}, time.Unix(2e9, 0)); err != nil {
			t.Fatal(err)
		}
		look(map[string]string{"/usr/local/sbin/new": ""})
		now.Cont += int64(jobsEvery)
		look(map[string]string{"/usr/local/sbin/new": "new", "/usr/libexec/logd": "com.apple.logd"})
		after := l.look(now)
		now.Cont += int64(jobsEvery)
		look(nil)
		if l.look(now) != after || before == after {
			t.Error("the jobs are new although no folder has changed, or old although one has")
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		now.Cont += int64(jobsEvery)
		look(map[string]string{"/usr/local/sbin/new": "", "/usr/libexec/logd": "com.apple.logd"})
	})
}
