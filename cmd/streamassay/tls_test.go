package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestTLS checks that a server can be tested over HTTPS, with HTTP/1.1 and HTTP/2, if its
// certificate is trusted or --insecure is given, and not otherwise.
func TestTLS(t *testing.T) {
	d, err := dialect.Open("runs")
	if err != nil {
		t.Fatal(err)
	}
	for _, http2 := range []bool{false, true} {
		srv := httptest.NewUnstartedServer(reference.New(d, reference.Scripted, reference.Config{}))
		srv.EnableHTTP2 = http2
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.StartTLS()
		t.Cleanup(srv.Close)
		dir := t.TempDir()
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
		if err := os.WriteFile(filepath.Join(dir, "ca.pem"), ca, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			code  int
			trust []string
		}{{exitOK, []string{"--insecure", "--only", "text", "--only", "second-user"}}, {exitOK, []string{"--ca", "ca.pem", "--only", "text", "--only", "resume", "--only", "attachments"}}, {exitInconclusive, nil}} {
			t.Run(fmt.Sprint("http2 ", http2, c.trust), func(t *testing.T) {
				t.Parallel()
				if code, out, said := streamassay(t, dir, append([]string{"run", srv.URL, "--dialect", "runs"}, c.trust...)...); code != c.code {
					t.Errorf("exit %d, want %d\n%s%s", code, c.code, out, said)
				}
			})
		}
	}
}
