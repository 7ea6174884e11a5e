package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestMain runs the program instead of the tests if STREAMASSAY_TEST_MAIN is 1, so that tests can
// run the program by starting their own binary.
func TestMain(m *testing.M) {
	if os.Getenv("STREAMASSAY_TEST_MAIN") == "1" {
		main()
	}
	os.Exit(m.Run())
}

// streamassay runs the program in the directory dir. It returns the exit code, and the texts on
// standard output and standard error.
func streamassay(t *testing.T, dir string, args ...string) (code int, out, err string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "STREAMASSAY_TEST_MAIN=1")
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	failed := cmd.Run()
	var exit *exec.ExitError
	if failed != nil && !errors.As(failed, &exit) {
		t.Fatal(failed)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// TestBadInput checks that invalid input results in a single line that names the invalid part, that
// no request is sent and that no file is created or removed.
func TestBadInput(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer srv.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"unknown.yaml": "targets:\n  - url: http://127.0.0.1:1\n    dialect: runs\n", "broken.yaml": "targets: [", "empty.yaml": "{}\n",
		"bad.txtar": "no transcript\n\ndialekt: x\n", "bad.har": "{", "no.pem": "hello", "plain.sse": "data: {}\n\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := listing(t, dir)
	for _, c := range []struct{ args, names string }{
		{"frobnicate", "frobnicate"},
		{"run --frobnicate", "--frobnicate"},
		{"run URL", "--dialect"},
		{"run URL --dialect nope", "nope"},
		{"run URL --dialect runs@1999", "runs@1999"},
		{"run 127.0.0.1:80 --dialect agkit", "127.0.0.1:80"},
		{"run ftp://127.0.0.1 --dialect agkit", "ftp://127.0.0.1"},
		{"run http:// --dialect agkit", "http://"},
		{"run URL URL --dialect agkit", "one TARGET"},
		{"run URL --dialect agkit --report pdf", "pdf"},
		{"run URL --dialect agkit --report json=missing/r.json", "missing"},
		{"run URL --dialect agkit --report json=", "no path"},
		{"run URL --dialect agkit --claim everything", "everything"},
		{"run URL --dialect agkit --claim tool --lacks tool", "tool"},
		{"run URL --dialect agkit --timeout soon", "soon"},
		{"run URL --dialect agkit --timeout -3s", "-3s"},
		{"run URL --dialect agkit --parallel 0", "--parallel 0"},
		{"run URL --dialect agkit --prompts rude", "rude"},
		{"run URL --dialect agkit --prompt nothing=x", "nothing"},
		{"run URL --dialect agkit --only zz*", "zz*"},
		{"run URL --dialect agkit --skip [", "["},
		{"run URL --dialect agkit --header NoColon", "--header"},
		{"run URL --dialect runs --other-header NoColon", "--other-header"},
		{"run URL --dialect runs --other-header A:b", "--other-header: needs the first user's credentials, too: add --header 'Authorization: …'"},
		{"run URL --dialect runs --header Cookie:b --other-header Cookie:b", "--other-header: these are the credentials of the first user, want those of another user"},
		{"run URL --dialect runs --header Authorization:Bearer", "--header: the token after Bearer is empty (an unset variable?)"},
		{"run URL --dialect runs --header X-API-Key:", "--header: the value of X-API-Key is empty (an unset variable?)"},
		{"run URL --dialect runs --stream-limit -1", "--stream-limit -1: must be from 1 to 256"},
		{"run URL --dialect runs --stream-limit many", "--stream-limit"},
		{"run URL --dialect agkit --ca no.pem", "no.pem"},
		{"run URL --dialect agkit --ca missing.pem", "missing.pem"},
		{"run URL --dialect agkit --max-event 0", "--max-event 0"},
		{"run URL --dialect agkit --transcripts plain.sse", "plain.sse"},
		{"run --config missing.yaml", "missing.yaml"},
		{"run --config broken.yaml", "broken.yaml"},
		{"run --config unknown.yaml", "dialect"},
		{"run --config empty.yaml", "targets"},
		{"run URL --config empty.yaml", "--config"},
		{"lint", "lint needs at least one argument"},
		{"lint missing.http --dialect agkit", "missing.http"},
		{"lint plain.sse", "--dialect"},
		{"lint plain.sse --dialect nope", "nope"},
		{"lint plain.sse --dialect agkit --claim tool", "tool"},
		{"lint bad.txtar", "bad.txtar"},
		{"lint bad.har --dialect agkit", "bad.har"},
		{"lint no.pem --dialect agkit", "no.pem"},
		{"serve --addr nowhere", "nowhere"},
		{"serve --addr 0.0.0.0:0", "0.0.0.0"},
		{"serve --dialect nope", "nope"},
		{"serve here", "here"},
		{"list", "list needs one argument"},
		{"list everything", `unknown kind "everything"`},
		{"explain", "one id"},
		{"explain nope", "nope"},
		{"spec", "spec needs a dialect"},
		{"spec nope", "nope"},
	} {
		code, out, said := streamassay(t, dir, strings.Fields(strings.ReplaceAll(c.args, "URL", srv.URL))...)
		if code != exitUsage || out != "" || strings.Count(said, "\n") != 1 || !strings.Contains(said, c.names) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q: want exit 2 and one line that names %q", c.args, code, out, said, c.names)
		}
	}
	if asked > 0 {
		t.Errorf("%d requests were sent", asked)
	}
	if after := listing(t, dir); !slices.Equal(before, after) {
		t.Errorf("files were touched: %v", after)
	}
}

func listing(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// agkit serves the reference of the dialect agkit, wrapped by spoil, until the end of the test. It
// returns the base URL.
func agkit(t *testing.T, spoil func(http.Handler) http.Handler) string {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(spoil(reference.New(d, reference.Scripted, reference.Config{})))
	t.Cleanup(srv.Close)
	return srv.URL
}

func asItIs(h http.Handler) http.Handler { return h }

// replacing returns a function that wraps a handler so that old is replaced by new in the bodies of
// all responses.
func replacing(old, new string) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			for k, v := range rec.Header() {
				w.Header()[k] = v
			}
			w.WriteHeader(rec.Code)
			io.WriteString(w, strings.ReplaceAll(rec.Body.String(), old, new))
		})
	}
}

// TestExitCodes checks the documented exit codes of the run command.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := agkit(t, asItIs)
	for _, c := range []struct {
		name string
		code int
		args []string
	}{
		{"a right server", exitOK, []string{"run", good, "--dialect", "agkit", "--only", "text"}},
		{"a broken MUST", exitFailed, []string{"run", agkit(t, replacing(`"type":"text"`, `"type":7`)), "--dialect", "agkit", "--only", "text"}},
		{"a broken SHOULD", exitOK, []string{"run", agkit(t, replacing(`"result":`, `"outcome":`)), "--dialect", "agkit", "--only", "agkit.event.tool-result", "--skip", "payloads*", "--skip", "combination-*", "--skip", "refusals"}},
		{"a broken SHOULD, strictly", exitFailed, []string{"run", agkit(t, replacing(`"result":`, `"outcome":`)), "--dialect", "agkit", "--only", "agkit.event.tool-result", "--skip", "payloads*", "--skip", "combination-*", "--skip", "refusals", "--strict"}},
		{"nobody there", exitInconclusive, []string{"run", "http://127.0.0.1:1", "--dialect", "agkit"}},
		{"TLS on a plain port", exitInconclusive, []string{"run", strings.Replace(good, "http:", "https:", 1), "--dialect", "agkit"}},
		{"a report that cannot be written", exitInternal, []string{"run", good, "--dialect", "agkit", "--only", "text", "--report", "json=/dev/full"}},
	} {
		if code, out, said := streamassay(t, dir, c.args...); code != c.code {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.name, code, c.code, out, said)
		}
	}
}

// TestReports checks the structure of the JSON report, and that the JUnit report has the same
// number of failures.
func TestReports(t *testing.T) {
	dir := t.TempDir()
	code, _, said := streamassay(t, dir, "run", agkit(t, replacing(`[DONE]`, "[DONE]\n\ndata: {\"type\":\"text\",\"content\":\"more\"}")), "--dialect", "agkit", "--report", "json=r.json", "--report", "junit=r.xml", "--transcripts", "t")
	if code != exitFailed {
		t.Fatalf("exit %d: %s", code, said)
	}
	data, err := os.ReadFile(filepath.Join(dir, "r.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Tool, Version, Target, Verdict string
		Exit                           int
		Counts                         map[string]int
		Dialects                       []struct {
			Dialect      string
			Requirements []struct {
				ID, Level, Verdict, Quote, Source string
				Checks                            []string
			}
			Checks []struct {
				ID, Title, Level, Scenario, Verdict, Curl, Transcript string
				Judged                                                int
				Requirements                                          []string
				Findings                                              []struct {
					Message, Raw           string
					Exchange, Line, Offset int
					Event                  *int
				}
			}
		}
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Tool != "streamassay" || r.Verdict != "failed" || r.Exit != 1 || len(r.Dialects) != 1 || r.Dialects[0].Dialect != "agkit@0.0.10" {
		t.Errorf("the head of the report is %+v", r)
	}
	counts, found := map[string]int{}, false
	for _, c := range r.Dialects[0].Checks {
		counts[c.Verdict]++
		if (c.Judged == 0) != (c.Verdict == "silent" || c.Verdict == "skipped" || c.Verdict == "error") || c.Title == "" || len(c.Requirements) == 0 {
			t.Errorf("entry %s in %s: judged %d, verdict %s", c.ID, c.Scenario, c.Judged, c.Verdict)
		}
		if c.ID == "done.is-last" && c.Scenario == "text" && len(c.Findings) > 0 {
			f := c.Findings[0]
			found = f.Event != nil && *f.Event > 0 && f.Line > 1 && f.Offset > 0 && strings.Contains(f.Raw, "more") && strings.HasPrefix(c.Curl, "curl -sN")
			if _, err := os.Stat(filepath.Join(dir, c.Transcript)); err != nil {
				t.Error(err)
			}
		}
	}
	if !found {
		t.Error("what comes after the sentinel is not found, with event, line, offset, bytes and a curl")
	}
	for verdict, n := range counts {
		if r.Counts[verdict] != n {
			t.Errorf("%d entries are %s, the counts say %d", n, verdict, r.Counts[verdict])
		}
	}
	for _, law := range r.Dialects[0].Requirements {
		if law.ID == "agkit.done.last" && law.Verdict != "failed" || law.Quote == "" || law.Source == "" {
			t.Errorf("requirement %+v", law)
		}
	}
	var suite struct {
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Cases []struct {
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	data, _ = os.ReadFile(filepath.Join(dir, "r.xml"))
	if err := xml.Unmarshal(data, &suite); err != nil || suite.Failures != r.Counts["failed"] {
		t.Errorf("JUnit counts %d failures, JSON %d: %v", suite.Failures, r.Counts["failed"], err)
	}
	// lint judges the recording as run judged the server.
	if code, out, said := streamassay(t, dir, "lint", "t/agkit@0.0.10/text.txtar"); code != exitFailed || !strings.Contains(out, "done.is-last") {
		t.Errorf("lint of the recording: exit %d\n%s%s", code, out, said)
	}
}

// TestSecrets checks that a secret that the server returns in its responses appears in no output.
func TestSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const canary = "s3cr3t-canary-0815"
	url := agkit(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-You-Sent", r.Header.Get("Authorization"))
			replacing("[DONE]", `{"type":9,"told":"`+r.Header.Get("Authorization")+`"}`)(h).ServeHTTP(w, r)
		})
	})
	code, out, said := streamassay(t, dir, "run", url, "--dialect", "agkit", "--header", "Authorization: Bearer "+canary,
		"--report", "json=r.json", "--report", "junit=r.xml", "--report", "html=r.html", "--report", "markdown=r.md", "--transcripts", "t")
	if code != exitFailed {
		t.Fatalf("exit %d: %s", code, said)
	}
	noneShown(t, dir, out+said, canary)
}

// TestSecretsInOtherSpellings checks that a secret appears in no output even if the server returns
// it escaped for JSON, HTML or a URL, in hexadecimal, or within a Base64 text.
func TestSecretsInOtherSpellings(t *testing.T) {
	dir := t.TempDir()
	const canary = "s3cr3t/canary+0815"
	const name = "canary" // is in none of the outputs, not even in part
	url := agkit(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			spelled := []string{
				strings.ReplaceAll(sent, "/", `\/`), strings.ReplaceAll(sent, "+", `\u002B`), `\u0073` + sent[1:],
				strings.NewReplacer("/", "%2f", "+", "%2B").Replace(sent), strings.NewReplacer("/", "&#x2f;", "+", "&plus;").Replace(sent),
				fmt.Sprintf("%X", sent), base64.StdEncoding.EncodeToString([]byte("a:" + sent + "!")), base64.RawURLEncoding.EncodeToString([]byte(sent)),
			}
			w.Header().Set("X-You-Sent", spelled[3])
			replacing("[DONE]", `{"type":9,"told":["`+strings.Join(spelled, `","`)+`"]}`)(h).ServeHTTP(w, r)
		})
	})
	code, out, said := streamassay(t, dir, "run", url, "--dialect", "agkit", "--only", "text", "--only", "empty", "--only", "recall", "--header", "Authorization: Bearer "+canary,
		"--report", "json=r.json", "--report", "junit=r.xml", "--report", "html=r.html", "--report", "markdown=r.md", "--report", "text=r.txt", "--transcripts", "t", "-v")
	if code != exitFailed {
		t.Fatalf("exit %d: %s", code, said)
	}
	noneShown(t, dir, out+said, name, "s3cr3t", "733363723374", base64.RawStdEncoding.EncodeToString([]byte("a:" + canary))[4:16], base64.RawURLEncoding.EncodeToString([]byte(canary))[:12])
}

// TestSecretsOfTwoUsers checks that the secrets of two users appear in no output, whatever their
// authentication scheme, and that an error message about the headers does not show them either.
func TestSecretsOfTwoUsers(t *testing.T) {
	dir := t.TempDir()
	const canary, cookie, other = "s3cr3t-canary-0815", "s3cr3t-canary-0816", "s3cr3t-canary-0817"
	d, err := dialect.Open("runs")
	if err != nil {
		t.Fatal(err)
	}
	h := reference.New(d, reference.Scripted, reference.Config{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-You-Sent", r.Header.Get("Authorization"))
		if c, err := r.Cookie("sid"); err == nil {
			w.Header().Set("X-And-Also", c.Value)
		}
		if r.Method == http.MethodGet {
			h.ServeHTTP(w, r)
			return
		}
		replacing(`"status":`, `"told":"`+r.Header.Get("Authorization")+`","status":`)(h).ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	_, out, said := streamassay(t, dir, "run", srv.URL, "--dialect", "runs", "--only", "credentials", "--only", "second-user", "--only", "text",
		"--header", "Authorization: Bearer "+canary, "--header", "Cookie: sid="+cookie+"; a=b", "--other-header", "Authorization: Bearer "+other,
		"--report", "json=r.json", "--report", "junit=r.xml", "--report", "html=r.html", "--report", "markdown=r.md", "--transcripts", "t")
	if !strings.Contains(out, "runs.auth.bad-token") { // any token is a user
		t.Errorf("nothing was found:\n%s%s", out, said)
	}
	noneShown(t, dir, out+said, canary, cookie, other)
	code, out, said := streamassay(t, dir, "run", srv.URL, "--dialect", "runs", "--header", "Authorization: "+canary, "--other-header", "Authorization: "+canary)
	if code != exitUsage || strings.Contains(out+said, canary) {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
}

// noneShown fails the test if one of the secrets is in the text printed or in a file in the
// directory dir. It also fails the test if nothing was redacted, because then the test proves
// nothing.
func noneShown(t *testing.T, dir, printed string, secrets ...string) {
	t.Helper()
	texts := map[string]string{"what was printed": printed}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		texts[path] = string(data)
		return err
	})
	if err != nil || len(texts) < 8 {
		t.Fatalf("%d files were written: %v", len(texts), err)
	}
	redacted := 0
	for name, text := range texts {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows the secret %s", name, secret)
			}
		}
		redacted += strings.Count(text, "REDACTED")
	}
	if redacted == 0 {
		t.Error("the secret never came near a report: the test tests nothing")
	}
}

// TestLists checks that list, explain, spec and the help texts succeed and print something, and
// that the requirements in JSON have all members.
func TestLists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range []string{"list dialects", "list requirements --json", "list checks", "list scenarios --json", "explain run.ends", "explain agkit.done.last", "explain text", "spec runs@2026-03", "--version", "run --help", "lint --help", "serve --help", "completion bash"} {
		if code, out, said := streamassay(t, dir, strings.Fields(args)...); code != exitOK || len(out) < 12 || said != "" {
			t.Errorf("%s: exit %d, %d bytes, stderr %q", args, code, len(out), said)
		}
	}
	_, out, _ := streamassay(t, dir, "list", "requirements", "--json")
	var all []map[string]any
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) < 500 {
		t.Fatalf("%d requirements: %v", len(all), err)
	}
	for _, r := range all {
		for _, key := range []string{"dialect", "id", "level", "quote", "source", "checks"} {
			if r[key] == nil {
				t.Errorf("%v has no %s", r["id"], key)
			}
		}
	}
}

// TestFullDisk checks that a command whose output cannot be written ends with the exit code of an
// internal error, and not with that of wrong usage.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	var said strings.Builder
	code := run(t.Context(), []string{"list", "checks"}, stdio{strings.NewReader(""), full, &said, func(string) string { return "" }})
	if code != exitInternal || !strings.Contains(said.String(), "no space left on device") {
		t.Errorf("exit %d, %s", code, said.String())
	}
}
