package query

import (
	"testing"

	"tachograph/sample/metric"
)

// Owners have the words that people use, and are left out where they only repeat the name of the
// process.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		kind, name string
		n          int
		words      string
		process    string
		beside     string
	}{
		{"app", "Safari", 31, "Safari (31 processes)", "com.apple.WebKit.WebContent", " of Safari"},
		{"app", "Safari", 0, "Safari", "Safari", ""},
		{"app", "Google Chrome", 44, "Google Chrome (44 processes)", "Google Chrome Helper (Renderer)", ""},
		{"app", "Go", 2, "Go (2 processes)", "Google", " of Go"},
		{"app", "firefox", 1, "firefox (1 process)", "Firefox", ""},
		{"service", "backup.service", 2, "backup.service (2 processes)", "python3", " in backup.service"},
		{"service", "nginx.service", 0, "nginx.service", "nginx", ""},
		{"service", "systemd-journald.service", 0, "systemd-journald.service", "systemd-journal", ""},
		{"service", "com.apple.WindowServer", 0, "com.apple.WindowServer", "WindowServer", ""},
		{"service", "kernel", 0, "", "kworker/1:0", ""},
		{"container", "web", 3, "container web (3 processes)", "nginx", " in container web"},
		{"container", "4f1c22aa90b3", 0, "container 4f1c22aa90b3", "java", " in container 4f1c22aa90b3"},
		{"pod", "shop/cart-7d9f", 0, "pod shop/cart-7d9f", "cart", " in pod shop/cart-7d9f"},
		{"session", "3 of anna", 0, "session 3 of anna", "make", " in session 3 of anna"},
		{"session", "pts/4", 0, "terminal pts/4", "make", " in terminal pts/4"},
	} {
		whose := WhoseIs(&metric.Instance{Labels: []metric.Label{{Name: c.kind, Value: c.name}}})
		if words := whose.Words(c.n); whose != (Whose{}) && words != c.words {
			t.Errorf("%s %s: %q, want %q", c.kind, c.name, words, c.words)
		}
		if beside := whose.Beside(c.process); beside != c.beside {
			t.Errorf("%s of %s %s: %q, want %q", c.process, c.kind, c.name, beside, c.beside)
		}
	}
}
