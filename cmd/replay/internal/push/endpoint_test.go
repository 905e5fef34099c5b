package push

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func written(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A receiver that takes a request and does not answer, or only half, is not waited for
// longer than was said, and is tried again.
func TestReceiversThatStall(t *testing.T) {
	for name, begin := range map[string]string{"no answer": "", "half an answer": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						defer c.Close()
						_, _ = c.Read(make([]byte, 1)) // nobody answers before there is a request
						_, _ = c.Write([]byte(begin))
						_, _ = io.Copy(io.Discard, c) // until the other side gives up
					}()
				}
			}()
			p, err := NewEndpoint("http://"+l.Addr().String()+"/write", Access{Timeout: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Post(t.Context(), nil, nil, []byte("x"))
			var again *Retry
			if !errors.As(err, &again) || again.Slow || !strings.Contains(err.Error(), "no whole answer within 50ms") {
				t.Errorf("it is told: %v", err)
			}
			// Whoever ends this is not told that the receiver was slow.
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := p.Post(ctx, nil, nil, []byte("x")); err == nil || strings.Contains(err.Error(), "within") {
				t.Errorf("ended: %v", err)
			}
		})
	}
}

// An issuer signs certificates.
type issuer struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64
}

// issue makes a certificate, and files with it and its key.
func (c *issuer) issue(name string, more func(*x509.Certificate)) (certFile, keyFile string) {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	c.last++
	cert := &x509.Certificate{SerialNumber: big.NewInt(c.last), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	more(cert)
	signer, by := c.cert, c.key
	if signer == nil {
		signer, by = cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, signer, &key.PublicKey, by)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.cert == nil {
		c.key = key
		if c.cert, err = x509.ParseCertificate(der); err != nil {
			c.t.Fatal(err)
		}
	}
	text, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		c.t.Fatal(err)
	}
	block := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return written(c.t, filepath.Join(c.dir, name+".pem"), block("CERTIFICATE", der)), written(c.t, filepath.Join(c.dir, name+".key"), block("EC PRIVATE KEY", text))
}

// A receiver with a certificate of somebody's own, which wants one of ours: who signed
// the first is told in a file, and without either nothing is sent.
func TestCertificates(t *testing.T) {
	c := &issuer{t: t, dir: t.TempDir()}
	ca, _ := c.issue("ca", func(x *x509.Certificate) {
		x.IsCA, x.BasicConstraintsValid, x.KeyUsage = true, true, x509.KeyUsageCertSign
	})
	serverCert, serverKey := c.issue("server", func(x *x509.Certificate) {
		x.IPAddresses, x.ExtKeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	})
	cert, key := c.issue("host-7", func(x *x509.Certificate) { x.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	pair, err := tls.LoadX509KeyPair(serverCert, serverKey)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(c.cert)
	asked := ""
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.TLS.PeerCertificates[0].Subject.CommonName
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of those that are turned away
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	s.StartTLS()
	defer s.Close()
	for _, try := range []struct {
		name   string
		access Access
		err    string
	}{
		{"both", Access{CAFile: ca, CertFile: cert, KeyFile: key}, ""},
		{"nobody signed the server's", Access{CertFile: cert, KeyFile: key}, "unknown authority"},
		{"none of ours", Access{CAFile: ca}, "certificate required"},
	} {
		asked = ""
		p, err := NewEndpoint(s.URL+"/write", try.access)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := p.Post(t.Context(), nil, nil, []byte("x"))
		var again *Retry
		switch {
		case try.err == "" && (err != nil || answer.Status != http.StatusOK || asked != "host-7"):
			t.Errorf("%s: %v, asked by %q", try.name, err, asked)
		case try.err != "" && (!errors.As(err, &again) || !strings.Contains(err.Error(), try.err) || asked != ""):
			t.Errorf("%s: %v, asked by %q", try.name, err, asked)
		}
	}
	if _, err := NewEndpoint(s.URL, Access{CertFile: cert, KeyFile: serverKey}); err == nil || !strings.Contains(err.Error(), "cannot be used with the key") {
		t.Errorf("a key of another: %v", err)
	}
}

// A token that is replaced while pushing is read again; but not by whoever has lost the
// right to.
func TestATokenIsReplaced(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new" {
			http.Error(w, "who?", http.StatusUnauthorized)
		}
	}))
	defer s.Close()
	for _, keep := range []bool{false, true} {
		token := written(t, filepath.Join(t.TempDir(), "token"), "old\n")
		p, err := NewEndpoint(s.URL, Access{TokenFile: token})
		if err == nil && keep {
			err = p.Keep()
		}
		if err != nil {
			t.Fatal(err)
		}
		post := func() error {
			a, err := p.Post(t.Context(), nil, nil, []byte("x"))
			if err != nil {
				return err
			}
			return a.Err()
		}
		var again *Retry
		if err := post(); !errors.As(err, &again) || !again.Slow {
			t.Errorf("an old token: %v", err)
		}
		written(t, token, "new\n")
		if err := post(); (err == nil) == keep {
			t.Errorf("kept: %v; a new token: %v", keep, err)
		}
		if err := os.Remove(token); err != nil {
			t.Fatal(err)
		}
		if err := post(); !errors.As(err, &again) || !again.Slow {
			t.Errorf("kept: %v; no token: %v", keep, err)
		}
	}
}

// A receiver says in seconds or by a date how long it wants to be left alone.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		date := func(in time.Duration) string { return time.Now().Add(in).UTC().Format(http.TimeFormat) }
		for text, want := range map[string]time.Duration{
			"90": 90 * time.Second, "0.5": 500 * time.Millisecond, "": 0, "-3": 0, "soon": 0, "NaN": 0, "1e300": longestAsked, "Inf": longestAsked,
			date(90 * time.Second): 90 * time.Second, date(-time.Hour): 0, date(240 * time.Hour): 240 * time.Hour,
		} {
			for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusUnauthorized} {
				var again *Retry
				err := (&Answer{Status: status, Header: http.Header{"Retry-After": {text}}}).Err()
				if !errors.As(err, &again) || again.After != want {
					t.Errorf("%d and %q: %+v, want %s", status, text, err, want)
				}
			}
		}
		s := &script{answers: []error{(&Answer{Status: 429, Header: http.Header{"Retry-After": {date(90 * time.Second)}}}).Err(),
			(&Answer{Status: 503, Header: http.Header{"Retry-After": {date(240 * time.Hour)}}}).Err()}}
		if _, _, err := tried(t, filepath.Join(t.TempDir(), "s"), s, nil); err != nil {
			t.Fatal(err)
		}
		for i, want := range []time.Duration{90 * time.Second, longestAsked} {
			if got := s.tries[i+1].Sub(s.tries[i]); got < want || got > want+time.Second {
				t.Errorf("attempt %d came after %s, want %s", i+1, got, want)
			}
		}
	})
}
