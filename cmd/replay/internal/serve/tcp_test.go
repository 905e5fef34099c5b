package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/testdata/patience"
)

const token = "0123456789abcdef0123456789abcdef"

func writeToken(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// writeCertificate makes a certificate for localhost with a serial number.
func writeCertificate(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	pk, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pk}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// What would let others in than those who are meant is refused in a sentence.
func TestRefusesToBeOpen(t *testing.T) {
	good := writeToken(t, token+"\n", 0o600)
	cert, key := writeCertificate(t, t.TempDir(), 1)
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Listen: "tcp:0.0.0.0:0"}, "needs --tls-cert, --tls-key and --token-file"},
		{Options{Listen: "tcp::0"}, "needs --tls-cert"},
		{Options{Listen: "tcp:[::]:0"}, "needs --tls-cert"},
		{Options{Listen: "tcp:0.0.0.0:0", TokenFile: good}, "needs --tls-cert"},
		{Options{Listen: "tcp:0.0.0.0:0", TLSCert: cert, TLSKey: key}, "needs --tls-cert"},
		{Options{Listen: "tcp:127.0.0.1:0", TLSCert: cert}, "belong together"},
		{Options{Listen: "tcp:127.0.0.1:0", TLSCert: cert, TLSKey: good}, "cannot use the certificate"},
		{Options{Listen: "tcp:127.0.0.1:0", TokenFile: writeToken(t, token, 0o640)}, "others may read the token"},
		{Options{Listen: "tcp:127.0.0.1:0", TokenFile: writeToken(t, "short", 0o600)}, "at least 16 characters"},
		{Options{Listen: "tcp:127.0.0.1:0", TokenFile: writeToken(t, "two words that are long", 0o600)}, "one word"},
		{Options{Listen: "tcp:127.0.0.1:0", TokenFile: "/nowhere"}, "cannot read the token from /nowhere"},
		{Options{Listen: "tcp:127.0.0.1:0", TokenFile: t.TempDir()}, "not in a plain file"},
		{Options{Listen: "tcp:127.0.0.1:0", Mode: 0o600}, "are of a unix socket"},
		{Options{Listen: "tcp:127.0.0.1:0", Access: Access{Users: []string{"root"}}}, "TCP does not show which user"},
		{Options{Listen: "unix:" + filepath.Join(t.TempDir(), "s"), TokenFile: good}, "the kernel says which user asks"},
	} {
		s, err := New(c.opt)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.opt, err)
		}
	}
}

// Pages of strangers get nothing: neither by a name of theirs that means this
// machine, nor across origins.
func TestRebinding(t *testing.T) {
	s := start(t, Options{Listen: "tcp:127.0.0.1:0", Names: []string{"mac.example"}})
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"localhost:80", "", 200},
		{"LocalHost", "", 200},
		{"127.0.0.1:80", "", 200},
		{"[::1]:80", "", 200},
		{"mac.example:80", "", 200},
		{"evil.example", "", 403},
		{"evil.example:80", "", 403},
		{"localhost.evil.example", "", 403},
		{"127.0.0.1.evil.example", "", 403},
		{"192.168.1.2", "", 403},
		{"localhost:80", "http://localhost:80", 200},
		{"localhost:80", "http://evil.example", 403},
		{"localhost:80", "http://localhost:81", 403},
		{"localhost:80", "https://localhost:80", 403},
		{"localhost:80", "null", 403},
		{"evil.example", "http://evil.example", 403},
	} {
		header := []string{"Host", c.host}
		if c.origin != "" {
			header = append(header, "Origin", c.origin)
		}
		if code, text := s.get(t, "/", header...); code != c.want {
			t.Errorf("%+v: %d %s", c, code, text)
		}
	}
	req, _ := http.NewRequest("OPTIONS", "http://localhost/", nil)
	req.Header.Set("Origin", "http://evil.example")
	req.Header.Set("Access-Control-Request-Method", "POST")
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	for name := range res.Header {
		if strings.HasPrefix(name, "Access-Control") {
			t.Errorf("%s is granted", name)
		}
	}
}

func TestToken(t *testing.T) {
	file := writeToken(t, token+"\n", 0o600)
	s := start(t, Options{Listen: "tcp:127.0.0.1:0", TokenFile: file})
	for header, want := range map[string]int{"": 401, token: 401, "Basic " + token: 401, "Bearer ": 401, "Bearer x" + token: 401,
		"Bearer " + token[1:]: 401, "Bearer " + token: 200, "bearer " + token: 200} {
		if code, text := s.get(t, "/", "Authorization", header); code != want || strings.Contains(text, token) {
			t.Errorf("%q: %d %s", header, code, text)
		}
	}
	// Another token is taken when the file has another, and none when it has none.
	other := strings.ToUpper(token)
	if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	s.tokens.file = changing{} // a second later
	if code, _ := s.get(t, "/", "Authorization", "Bearer "+other); code != 200 {
		t.Errorf("the new token: %d", code)
	}
	os.Remove(file)
	s.tokens.file = changing{}
	if code, _ := s.get(t, "/", "Authorization", "Bearer "+token); code != 401 {
		t.Errorf("the old token: %d", code)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := writeCertificate(t, dir, 1)
	s := start(t, Options{Listen: "tcp:0.0.0.0:0", TLSCert: cert, TLSKey: key, TokenFile: writeToken(t, token, 0o600)})
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	at := net.JoinHostPort("127.0.0.1", port)
	serial := func() int64 {
		c, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d", n)
	}
	if c, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		c.Close()
		t.Error("TLS 1.1 is spoken")
	}
	for _, protocol := range []string{"h2", "http/1.1"} {
		pool := x509.NewCertPool()
		pem, _ := os.ReadFile(cert)
		pool.AppendCertsFromPEM(pem)
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: protocol == "h2"}
		req, _ := http.NewRequest("GET", "https://"+at+"/", nil)
		res, err := (&http.Client{Transport: tr}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 401 || (res.ProtoMajor == 2) != (protocol == "h2") {
			t.Errorf("%s without a token: %s by %s", protocol, res.Status, res.Proto)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if res, err = (&http.Client{Transport: tr}).Do(req); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 {
			t.Errorf("%s: %s", protocol, res.Status)
		}
		tr.CloseIdleConnections()
	}
	writeCertificate(t, dir, 2)
	patience.Until(t, "the new certificate is taken", func() bool { return serial() == 2 })
	// One that cannot be read leaves that which was.
	os.WriteFile(cert, []byte("garbage"), 0o600)
	before := time.Now()
	patience.Until(t, "it has been looked at", func() bool { return time.Since(before) > 1100*time.Millisecond })
	if n := serial(); n != 2 {
		t.Errorf("certificate %d", n)
	}
}

// Browsers get the page at "/", and need no token for it: it asks for one. Whoever
// else asks gets the text, and all that is guarded stays so.
func TestHome(t *testing.T) {
	home := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("the page")) })
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	bearer := []string{"Authorization", "Bearer " + token}
	s := start(t, Options{Listen: "tcp:127.0.0.1:0", TokenFile: writeToken(t, token, 0o600)}, home)
	for _, c := range []struct {
		path   string
		header []string
		code   int
		want   string
	}{
		{"/", []string{"Accept", browser}, 200, "the page"},
		{"/", []string{"Accept", "*/*"}, 401, "wants a token"},
		{"/", nil, 401, "wants a token"},
		{"/", []string{"Accept", "text/html;q=0"}, 401, "wants a token"},
		{"/", append([]string{"Accept", "*/*"}, bearer...), 200, "replay serve"},
		{"/", append([]string{"Accept", browser}, bearer...), 200, "the page"},
		{"/echo", []string{"Accept", browser}, 401, "wants a token"},
		{"/..", []string{"Accept", browser}, 401, "wants a token"},
		{"/?x=/echo", []string{"Accept", browser}, 200, "the page"},
		{"/", []string{"Accept", browser, "Host", "evil.example"}, 403, "not called"},
		{"/", []string{"Accept", browser, "Origin", "http://evil.example"}, 403, "not answered"},
		{"/", []string{"Accept", browser, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200, "the page"},
		{"/", []string{"Accept", browser, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403, "not answered"},
		{"/", []string{"Accept", browser, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403, "not answered"},
	} {
		if code, text := s.get(t, c.path, c.header...); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s %q: %d %s", c.path, c.header, code, text)
		}
	}
	made := start(t, Options{Listen: "tcp:127.0.0.1:0", Token: token})
	for header, want := range map[string]int{"": 401, "Bearer x" + token: 401, "Bearer " + token: 200} {
		if code, _ := made.get(t, "/", "Authorization", header, "Accept", browser); code != want {
			t.Errorf("with a token of its own, %q: %d", header, code)
		}
	}
}

// A page of another origin can have a browser ask, as for a picture, without saying whose
// it is: it gets nothing, and nothing that is answered is for it.
func TestAcrossSites(t *testing.T) {
	s := start(t, Options{Listen: "tcp:127.0.0.1:0"})
	for site, want := range map[string]int{"": 200, "none": 200, "same-origin": 200, "same-site": 403, "cross-site": 403, "later": 403} {
		for _, path := range []string{"/", "/large"} {
			req, err := http.NewRequest("GET", "http://localhost"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if site != "" {
				req.Header.Set("Sec-Fetch-Site", site)
			}
			res, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("%q, %s: %d", site, path, res.StatusCode)
			}
			for name, value := range map[string]string{"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"} {
				if got := res.Header.Get(name); got != value {
					t.Errorf("%q, %s: %s is %q", site, path, name, got)
				}
			}
		}
	}
}
