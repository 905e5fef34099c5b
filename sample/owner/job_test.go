package owner

import "testing"

func TestJobFrom(t *testing.T) {
	list := func(dict string) []byte { return []byte(plistHead + "<dict>" + dict + "</dict></plist>") }
	const label = "<key>Label</key><string>com.example</string>"
	const arguments = "<key>ProgramArguments</key><array><string>/a</string><string>-d</string></array>"
	for _, c := range []struct {
		name string
		in   []byte
		want Job
	}{
		{"arguments", list(label + arguments), Job{"com.example", "/a"}},
		{"a program and arguments", list(label + arguments + "<key>Program</key><string>/b</string>"), Job{"com.example", "/b"}},
		{"a program in an app", list(label + "<key>BundleProgram</key><string>Contents/MacOS/b</string>"), Job{"com.example", "Contents/MacOS/b"}},
		{"a binary list", binaryOf(map[string]any{"Label": "com.example", "ProgramArguments": []string{"/a"}}, false), Job{"com.example", "/a"}},
		{"no program", list(label), Job{}},
		{"no label", list(arguments), Job{}},
		{"no list", []byte("x"), Job{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := JobFrom(c.in)
			if ok != (c.want != Job{}) || ok && got != c.want {
				t.Errorf("%+v, %v", got, ok)
			}
		})
	}
}

func TestJobs(t *testing.T) {
	var jobs Jobs
	if got := jobs.Label("/usr/libexec/logd"); got != "" {
		t.Errorf("a label without jobs: %q", got)
	}
	for _, j := range []Job{
		{"com.apple.logd", "/usr/libexec/logd"},
		{"com.apple.logd", "/usr/libexec/logd"},
		{"one", "/opt/shared"}, {"two", "/opt/shared"},
		{"script", "/bin/sh"},
		{"relative", "Contents/MacOS/b"},
		{"com.apple.safari", "/System/Cryptexes/App/usr/libexec/helper"},
		{"com.apple.framed", "/System/Library/PrivateFrameworks/F.framework/Versions/Current/Support/framed"},
		{"com.example.linked", "/var/root/daemon"},
	} {
		jobs.Add(j)
	}
	for path, want := range map[string]string{
		"/usr/libexec/logd": "com.apple.logd",
		"/opt/shared":       "",
		"/bin/sh":           "",
		"Contents/MacOS/b":  "",
		"/System/Volumes/Preboot/Cryptexes/App/usr/libexec/helper":                           "com.apple.safari",
		"/System/Library/PrivateFrameworks/F.framework/Versions/A/Support/framed":            "com.apple.framed",
		"/System/Library/PrivateFrameworks/F.framework/Support/framed":                       "com.apple.framed",
		"/System/Library/PrivateFrameworks/F.framework/Versions/A":                           "",
		"/System/Library/Frameworks/A.framework/Versions/A/Frameworks/B.framework/Versions/": "",
		"/private/var/root/daemon": "com.example.linked",
	} {
		if got := jobs.Label(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestLabelOf(t *testing.T) {
	for _, c := range []struct{ in, label, app string }{
		{"com.example.agent", "com.example.agent", ""},
		{"0", "", ""},
		{"", "", ""},
		{"application.com.apple.Safari.1234.5678", "", "com.apple.Safari"},
		{"application.com.example.app2.17.5", "", "com.example.app2"},
		{"application.com.example", "", "com.example"},
		{"application.", "", ""},
	} {
		if label, app := LabelOf(c.in); label != c.label || app != c.app {
			t.Errorf("%s: %q, %q", c.in, label, app)
		}
	}
}
