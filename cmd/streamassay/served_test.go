package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// A served is a process of this program that serves the reference or a mock.
type served struct {
	cmd     *exec.Cmd
	bases   map[string]string // by dialect
	control string
	out     *notepad
}

// base returns the base URL of the dialect. It must be called only if the server has one dialect.
func (s *served) base() string {
	for _, one := range s.bases {
		return one
	}
	return ""
}

// startServer starts the program, with args, in the directory dir and waits until it serves. The
// process is killed at the end of the test.
func startServer(t *testing.T, dir string, args ...string) *served {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	s := &served{cmd: exec.Command(os.Args[0], append(args, "--ready-file", ready)...), out: &notepad{}}
	s.cmd.Env, s.cmd.Dir = append(os.Environ(), "STREAMASSAY_TEST_MAIN=1"), dir
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	gomega.NewWithT(t).Eventually(func() bool {
		var said struct {
			PID     int
			Base    map[string]string
			Control string
		}
		text, err := os.ReadFile(ready)
		if err != nil || json.Unmarshal(text, &said) != nil || said.PID != s.cmd.Process.Pid {
			return false
		}
		s.bases, s.control = said.Base, said.Control
		return true
	}).WithTimeout(20*time.Second).Should(gomega.BeTrue(), s.out.String)
	return s
}

// kill sends SIGKILL to the server.
func (s *served) kill() {
	_ = s.cmd.Process.Kill()
	_, _ = s.cmd.Process.Wait()
}

// A notepad collects the output of a process. It may be used concurrently.
type notepad struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notepad) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notepad) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// get sends a GET request and returns the response and its body. header lists the names and values
// of header fields, one after the other.
func get(t *testing.T, client *http.Client, url string, header ...string) (res *http.Response, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if res, err = client.Do(req); err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(data)
}

// certified writes a certificate for 127.0.0.1 and its private key to the directory dir, and
// returns the paths of both files and a client that trusts the certificate.
func certified(t *testing.T, dir string) (cert, key string, client *http.Client) {
	t.Helper()
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	der, err := x509.MarshalPKCS8PrivateKey(srv.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(srv.Certificate())
	client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}}
	t.Cleanup(client.CloseIdleConnections)
	return cert, key, client
}
