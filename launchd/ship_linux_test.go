package launchd_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	bucketRegion = "eu-test-1"
	accessKey    = "AKIDEXAMPLE"
	secretKey    = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// bucket implements as much of S3 as is needed to store an object. It refuses requests that
// are not signed.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	sums    map[string]string
	puts    int
	refuse  int // number of puts to answer with 503
	cut     int // number of puts to break off in the middle
	wrong   []string
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := signed(r); err != nil {
		b.wrong = append(b.wrong, err.Error())
		http.Error(w, "<Error><Code>SignatureDoesNotMatch</Code></Error>", http.StatusForbidden)
		return
	}
	key := r.URL.Path
	switch r.Method {
	case http.MethodHead:
		body, ok := b.objects[key]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("X-Amz-Meta-Sha256", b.sums[key])
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	case http.MethodPut:
		b.puts++
		if b.cut > 0 {
			b.cut--
			io.CopyN(io.Discard, r.Body, 100)
			panic(http.ErrAbortHandler)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if b.refuse > 0 {
			b.refuse--
			http.Error(w, "<Error><Code>SlowDown</Code></Error>", http.StatusServiceUnavailable)
			return
		}
		sum := sha256.Sum256(body)
		if hex.EncodeToString(sum[:]) != r.Header.Get("X-Amz-Content-Sha256") {
			http.Error(w, "<Error><Code>XAmzContentSHA256Mismatch</Code></Error>", http.StatusBadRequest)
			return
		}
		b.objects[key], b.sums[key] = body, r.Header.Get("X-Amz-Meta-Sha256")
	default:
		http.Error(w, "", http.StatusMethodNotAllowed)
	}
}

// signed checks a request's signature as Amazon describes version 4.
func signed(r *http.Request) error {
	const scheme = "AWS4-HMAC-SHA256 "
	head, ok := strings.CutPrefix(r.Header.Get("Authorization"), scheme)
	if !ok {
		return fmt.Errorf("it is not signed: %q", r.Header.Get("Authorization"))
	}
	parts := make(map[string]string)
	for _, p := range strings.Split(head, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		parts[name] = value
	}
	scope, ok := strings.CutPrefix(parts["Credential"], accessKey+"/")
	date := r.Header.Get("X-Amz-Date")
	if !ok || len(date) < 8 || scope != date[:8]+"/"+bucketRegion+"/s3/aws4_request" {
		return fmt.Errorf("the scope is %q", scope)
	}
	names := strings.Split(parts["SignedHeaders"], ";")
	if !slices.Contains(names, "host") || !slices.Contains(names, "x-amz-content-sha256") {
		return fmt.Errorf("signed are only %q", names)
	}
	var canonical strings.Builder
	fmt.Fprintf(&canonical, "%s\n%s\n%s\n", r.Method, r.URL.EscapedPath(), r.URL.RawQuery)
	for _, n := range names {
		v := r.Header.Get(n)
		if n == "host" {
			v = r.Host
		}
		fmt.Fprintf(&canonical, "%s:%s\n", n, strings.TrimSpace(v))
	}
	fmt.Fprintf(&canonical, "\n%s\n%s", parts["SignedHeaders"], r.Header.Get("X-Amz-Content-Sha256"))
	sum := sha256.Sum256([]byte(canonical.String()))
	key := []byte("AWS4" + secretKey)
	for _, step := range append(strings.Split(scope, "/"), "AWS4-HMAC-SHA256\n"+date+"\n"+scope+"\n"+hex.EncodeToString(sum[:])) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(step))
		key = mac.Sum(nil)
	}
	if hex.EncodeToString(key) != parts["Signature"] {
		return fmt.Errorf("the signature of %s is wrong", r.URL.Path)
	}
	return nil
}

// shipping is what a test of the script needs.
type shipping struct {
	*bucket
	t        *testing.T
	dir, url string
	archive  string
	content  []byte
}

func newShipping(t *testing.T) *shipping {
	t.Helper()
	out, err := exec.Command("curl", "--version").Output()
	var major, minor int
	fmt.Sscanf(string(out), "curl %d.%d", &major, &minor)
	if err != nil || major < 7 || major == 7 && minor < 87 {
		t.Skip("there is no curl of 7.87 or later")
	}
	s := &shipping{t: t, bucket: &bucket{objects: map[string][]byte{}, sums: map[string]string{}}, dir: t.TempDir()}
	server := httptest.NewServer(s.bucket)
	t.Cleanup(server.Close)
	s.url = server.URL
	s.archive = filepath.Join(s.dir, "web-1-20261121T000000Z--20261122T000000Z.tacho")
	s.content = []byte(strings.Repeat("an archive, ", 50000))
	s.write(s.archive, string(s.content), 0o640)
	s.settings(0o600, "")
	return s
}

func (s *shipping) write(path, text string, mode os.FileMode) {
	s.t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shipping) conf() string { return filepath.Join(s.dir, "s3.conf") }

// settings writes the settings. Settings in more replace the usual lines.
func (s *shipping) settings(mode os.FileMode, more string) {
	s.t.Helper()
	lines := []string{"# where to", "url = " + s.url + "/bucket/tachograph/", "region = " + bucketRegion, "access_key=" + accessKey, "secret_key = " + secretKey}
	if name, _, ok := strings.Cut(more, "="); ok {
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, strings.TrimSpace(name)) })
		lines = append(lines, more)
	}
	s.write(s.conf(), strings.Join(lines, "\n"), mode)
}

// ship runs the script with the environment that the recorder gives it.
func (s *shipping) ship(archive string) (said string, err error) {
	cmd := exec.Command("/bin/sh", "packaging/ship/to-s3.sh", s.conf(), archive)
	cmd.Env = []string{"PATH=" + s.dir + ":/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C", "HOME=" + s.dir, "TACHOGRAPH_ARCHIVE=" + archive}
	s.settle()
	defer s.settle()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// settle orders what the bucket does after what the test did with it, and the other way
// round: the race detector does not see that the shell runs between the two.
func (b *bucket) settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
}

// An archive arrives whole, under its name, and once.
func TestShipToS3(t *testing.T) {
	s := newShipping(t)
	// real is curl. A script in its place records the arguments, which everybody on the
	// machine can see.
	real, _ := exec.LookPath("curl")
	s.write(filepath.Join(s.dir, "curl"), "#!/bin/sh\necho \"$@\" >>'"+s.dir+"/seen'\nexec "+real+" \"$@\"\n", 0o755)
	said, err := s.ship(s.archive)
	if err != nil || !strings.Contains(said, "was sent, 600000 bytes") {
		t.Fatalf("%v: %s %q", err, said, s.wrong)
	}
	const key = "/bucket/tachograph/web-1/web-1-20261121T000000Z--20261122T000000Z.tacho"
	if got := s.objects[key]; string(got) != string(s.content) || len(s.objects) != 1 {
		t.Errorf("%d objects, %d bytes below %s", len(s.objects), len(got), key)
	}
	if said, err := s.ship(s.archive); err != nil || s.puts != 1 || !strings.Contains(said, "there already") {
		t.Errorf("once more: %v: %s, sent %d times", err, said, s.puts)
	}
	// Another object under that name is replaced.
	s.objects[key] = s.content[:1000]
	if _, err := s.ship(s.archive); err != nil || string(s.objects[key]) != string(s.content) {
		t.Errorf("a part of an archive stays: %v", err)
	}
	seen, err := os.ReadFile(filepath.Join(s.dir, "seen"))
	if err != nil || strings.Contains(string(seen), secretKey) || strings.Contains(string(seen), accessKey) {
		t.Errorf("arguments are for all to see: %v\n%s", err, seen)
	}
}

// Errors are reported, and the next run repairs them.
func TestShipToS3Again(t *testing.T) {
	s := newShipping(t)
	s.cut = 100 // more often than curl tries
	if said, err := s.ship(s.archive); err == nil || len(s.objects) != 0 {
		t.Fatalf("a connection that ended: %s, %d objects", said, len(s.objects))
	}
	s.cut, s.refuse = 0, 1
	if said, err := s.ship(s.archive); err != nil || len(s.objects) != 1 {
		t.Errorf("a server that was busy once: %v: %s", err, said)
	}
	clear(s.objects)
	s.settings(0o600, "secret_key = another")
	if said, err := s.ship(s.archive); err == nil || !strings.Contains(said, "SignatureDoesNotMatch") || len(s.objects) != 0 {
		t.Errorf("a wrong secret: %v: %s", err, said)
	}
}

// Unsafe settings are refused with a sentence.
func TestShipToS3Refuses(t *testing.T) {
	s := newShipping(t)
	refused := func(what, archive, want string) {
		t.Helper()
		said, err := s.ship(archive)
		if err == nil || !strings.Contains(said, want) || strings.Count(strings.TrimSpace(said), "\n") > 0 {
			t.Errorf("%s: %v: %s", what, err, said)
		}
	}
	for _, name := range []string{"web-1.live", "a b-20261121T000000Z--20261122T000000Z.tacho", "$(id)-20261121T000000Z--20261122T000000Z.tacho", "x.tacho"} {
		path := filepath.Join(s.dir, name)
		s.write(path, "x", 0o600)
		refused(name, path, "archive")
	}
	link := filepath.Join(s.dir, "ln-20261121T000000Z--20261122T000000Z.tacho")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	refused("a link", link, "is no file")
	s.settings(0o644, "")
	refused("settings that all may read", s.archive, "chmod 600")
	s.settings(0o600, "url = http://example.org/bucket")
	refused("an address without encryption", s.archive, "no https")
	s.settings(0o600, "url = ")
	refused("no address", s.archive, "lacks one of")
	s.settings(0o600, "password = x")
	refused("a setting that is none", s.archive, "no setting password")
	s.settings(0o600, "region = x\"\nurl = \"file:///etc/passwd")
	refused("a quotation", s.archive, "quotation mark")
	os.Remove(s.conf())
	refused("no settings", s.archive, "cannot be read")
	if s.puts > 0 {
		t.Errorf("%d were sent all the same", s.puts)
	}
}
