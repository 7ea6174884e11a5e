package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// quick returns the arguments of a short run in the dialect agkit: one scenario against the server
// at url, followed by args.
func quick(url string, args ...string) []string {
	return append([]string{"run", url, "--dialect", "agkit", "--only", "text"}, args...)
}

// verdictIn returns the verdict in a JSON report, or "" if text is not a report.
func verdictIn(text []byte) string {
	var r struct{ Verdict string }
	_ = json.Unmarshal(text, &r) // then there is none
	return r.Verdict
}

// TestReportKeepsSpecialFiles checks that a report is written to FIFOs and devices without
// replacing them, and to the target of a symbolic link without replacing the link.
func TestReportKeepsSpecialFiles(t *testing.T) {
	dir, url := t.TempDir(), agkit(t, asItIs)
	fifo, link, dangling := filepath.Join(dir, "fifo"), filepath.Join(dir, "link"), filepath.Join(dir, "dangling")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{link: "file", dangling: "later"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	heard := make(chan []byte, 1)
	go func() {
		text, _ := os.ReadFile(fifo) // what was not read has no verdict
		heard <- text
	}()
	code, out, said := streamassay(t, dir, quick(url, "--report", "json=fifo", "--report", "json=link", "--report", "json=dangling",
		"--report", "json=/dev/null")...)
	if code != exitOK || !strings.Contains(out, "PASSED") {
		t.Fatalf("exit %d\n%s%s", code, out, said)
	}
	select {
	case text := <-heard:
		if v := verdictIn(text); v != "passed" {
			t.Errorf("through the FIFO came %.80q", text)
		}
	case <-time.After(5 * time.Second):
		t.Error("nothing came through the FIFO")
	}
	for name, mode := range map[string]os.FileMode{"fifo": os.ModeNamedPipe, "link": os.ModeSymlink, "dangling": os.ModeSymlink, "/dev/null": os.ModeDevice} {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, name)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode()&mode == 0 {
			t.Errorf("%s is %v now, %v", name, info.Mode(), err)
		}
	}
	for _, name := range []string{"file", "later"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || verdictIn(text) != "passed" {
			t.Errorf("%s has %.80q, %v", name, text, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "file")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the permissions of the file are %v, %v", info.Mode(), err)
	}
}

// TestReportDescriptor checks that a report can be written to an inherited descriptor, by each of
// its names, and to standard output.
func TestReportDescriptor(t *testing.T) {
	url := agkit(t, asItIs)
	for _, name := range []string{"/dev/fd/3", "/proc/self/fd/3", "/dev/stdout", "/dev/fd/1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			cmd := exec.CommandContext(t.Context(), os.Args[0], quick(url, "--report", "json="+name)...)
			cmd.Env, cmd.Dir = append(os.Environ(), "STREAMASSAY_TEST_MAIN=1"), t.TempDir()
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = &out, &out, []*os.File{writer}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			writer.Close()
			text, err := io.ReadAll(reader)
			if err != nil || cmd.Wait() != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			if strings.HasSuffix(name, "3") {
				if verdictIn(text) != "passed" || !strings.Contains(out.String(), "PASSED") {
					t.Errorf("it got %.80q, and printed was %s", text, &out)
				}
			} else if verdictIn(out.Bytes()) != "passed" {
				t.Errorf("printed was %.200q: nothing else may stand beside the report", out.String())
			}
		})
	}
}

// TestReportPlaces checks that a destination that cannot be written, or that two reports share, is
// an error before any request is sent.
func TestReportPlaces(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer srv.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"loop": "loop", "link": "file", "here": "."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil { // nobody reads it
		t.Fatal(err)
	}
	before := listing(t, dir)
	for _, c := range []struct{ reports, says string }{
		{"json=- junit=-", "same place"},
		{"json junit=/dev/stdout", "same place"},
		{"json=- junit=/dev/fd/1", "same place"},
		{"json=a junit=a", "same place"},
		{"json=a junit=./a", "same place"},
		{"json=a junit=here/a", "same place"},
		{"json=a junit=DIR/a", "same place"},
		{"json=file junit=link", "same place"},
		{"json=fifo junit=./fifo", "same place"},
		{"json=/dev/null junit=/dev/null", "same place"},
		{"json=here", "json=here: is a directory"},
		{"json=x/", "json=x/: is a directory"},
		{"json=missing/a", "directory missing does not exist"},
		{"json=file/a", "file is not a directory"},
		{"json=loop", "too many symbolic links"},
		{"json=/dev/fd/77", "descriptor 77 is not open"},
		{"json=/dev/fd/0", "descriptor 0 is not open for writing"},
		{"json=/proc/self/a", "cannot create files"},
	} {
		args := []string{"run", srv.URL, "--dialect", "agkit"}
		for _, r := range strings.Fields(strings.ReplaceAll(c.reports, "DIR", dir)) {
			args = append(args, "--report", r)
		}
		code, out, said := streamassay(t, dir, args...)
		if code != exitUsage || out != "" || strings.Count(said, "\n") != 1 || !strings.Contains(said, c.says) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q: want exit 2 and one line with %q", c.reports, code, out, said, c.says)
		}
	}
	if after := listing(t, dir); strings.Join(before, " ") != strings.Join(after, " ") || asked > 0 {
		t.Errorf("%d requests were sent, and there are %v", asked, after)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(text) != "old" {
		t.Errorf("a file was written: %q, %v", text, err)
	}
}

// TestReportFull checks that a full disk is reported in one line as an internal error, and that the
// other reports are complete.
func TestReportFull(t *testing.T) {
	dir, url := t.TempDir(), agkit(t, asItIs)
	code, out, said := streamassay(t, dir, quick(url, "--report", "junit=/dev/full", "--report", "json=r.json")...)
	if code != exitInternal || strings.Count(said, "\n") != 1 || !strings.Contains(said, "--report junit=/dev/full: no space left on device") {
		t.Errorf("exit %d, stderr %q", code, said)
	}
	text, err := os.ReadFile(filepath.Join(dir, "r.json"))
	if err != nil || verdictIn(text) != "passed" || !strings.Contains(out, "  passed   agkit") ||
		!strings.Contains(out, "INTERNAL ERROR") || !strings.HasSuffix(out, "(exit 5)\n") {
		t.Errorf("the other report is %.80q, %v; printed is\n%s", text, err, out)
	}
	if info, err := os.Stat("/dev/full"); err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Errorf("/dev/full is %v now, %v", info, err)
	}
}

// TestReportsOfTargets checks that the number of the target is added to the name of a report file
// that an earlier target uses, and that the summary of all targets is the last line.
func TestReportsOfTargets(t *testing.T) {
	dir, url := t.TempDir(), agkit(t, asItIs)
	config := "targets:\n" +
		"  - {url: '" + url + "', dialects: [agkit], only: [text]}\n" +
		"  - {url: 'http://127.0.0.1:1', dialects: [agkit], only: [text]}\n" +
		"  - {url: '" + url + "', dialects: [agkit], only: [text], reports: [json=own.json]}\n"
	if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := streamassay(t, dir, "run", "--config", "c.yaml", "--report", "json=r.json", "--report", "markdown=/dev/null", "--transcripts", "t")
	if code != exitInconclusive {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
	if got := strings.Join(listing(t, dir), " "); got != "c.yaml own.json r-2.json r.json t t-3" {
		t.Errorf("there are %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "t-3/agkit@0.0.10/text.txtar")); err != nil || !bytes.Contains(text, []byte(url)) {
		t.Errorf("the third target's conversation is %.200q, %v", text, err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if want := "INCONCLUSIVE  3 targets: 2 passed, 1 not measured in full  (exit 3)"; lines[len(lines)-1] != want {
		t.Errorf("the last line is %q, want %q", lines[len(lines)-1], want)
	}
	_, out, _ = streamassay(t, dir, "run", "--config", "c.yaml", "--report", "json=-")
	if strings.Contains(out, "targets:") {
		t.Errorf("a line for people stands in the output for programs:\n%s", out)
	}
	clash := "targets:\n" +
		"  - {url: '" + url + "', dialects: [agkit], reports: [json=r.json]}\n" +
		"  - {url: '" + url + "', dialects: [agkit], reports: [json=r-2.json, json=r.json]}\n"
	if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(clash), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said = streamassay(t, dir, "run", "--config", "c.yaml")
	if code != exitUsage || out != "" || !strings.Contains(said, "same place") || !strings.Contains(said, "c.yaml:3: target 2: reports json=r.json") {
		t.Errorf("exit %d, %q %q", code, out, said)
	}
}

// TestReportsBeforeError checks that a report which could not be written is named even if a later
// target ends the program with an error.
func TestReportsBeforeError(t *testing.T) {
	dir, url := t.TempDir(), agkit(t, asItIs)
	config := "targets:\n" +
		"  - {url: '" + url + "', dialects: [agkit], only: [text], reports: [junit=/dev/full]}\n" +
		"  - {url: '" + url + "', dialects: [agkit], only: [text], transcripts: t}\n"
	if err := os.Mkdir(filepath.Join(dir, "t"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"c.yaml": config, "t/agkit@0.0.10": "where the transcripts of the dialect should go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, said := streamassay(t, dir, "run", "--config", "c.yaml")
	if code != exitInternal || strings.Count(said, "\n") != 1 || !strings.Contains(said, "--transcripts t: ") ||
		!strings.Contains(said, "junit=/dev/full: no space left on device") {
		t.Errorf("exit %d, stderr %q; printed is\n%s", code, said, out)
	}
}

// TestWithUnwritten checks the exit code and the message with which the program ends if reports could
// not be written.
func TestWithUnwritten(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
		text string
	}{
		{nil, exitInternal, "a; b"},
		{exitWith(exitFailed), exitInternal, "a; b"},
		{exitError{exitUsage, "no target"}, exitInternal, "no target; a; b"},
		{errors.New("no target"), exitInternal, "no target; a; b"},
		{exitError{130, "interrupted by SIGINT"}, 130, "interrupted by SIGINT; a; b"},
		{exitError{143, "interrupted by SIGTERM"}, 143, "interrupted by SIGTERM; a; b"},
	} {
		if got, want := withUnwritten(test.err, []string{"a", "b"}), (exitError{test.code, test.text}); got != want {
			t.Errorf("%v: got %#v, want %#v", test.err, got, want)
		}
		if got := withUnwritten(test.err, nil); got != test.err {
			t.Errorf("%v: got %#v although all reports were written", test.err, got)
		}
	}
}

// TestReadyFilePlaces checks that a ready file can be a special file such as a FIFO, but not a
// directory.
func TestReadyFilePlaces(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"serve", "mock"} {
		for place, says := range map[string]string{".": "is a directory", "missing/r": "directory missing does not exist", "/dev/fd/77": "not open"} {
			code, out, said := streamassay(t, dir, command, "--dialect", "agkit", "--ready-file", place)
			if code != exitUsage || out != "" || strings.Count(said, "\n") != 1 || !strings.Contains(said, says) {
				t.Errorf("%s --ready-file %s: exit %d, %q %q: want %q", command, place, code, out, said, says)
			}
		}
		cmd := exec.Command(os.Args[0], command, "--dialect", "agkit", "--ready-file", "fifo")
		cmd.Env, cmd.Dir = append(os.Environ(), "STREAMASSAY_TEST_MAIN=1"), dir
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		var ready struct{ Base map[string]string }
		text, err := os.ReadFile(fifo)
		if err != nil || json.Unmarshal(text, &ready) != nil || ready.Base["agkit@0.0.10"] == "" {
			t.Errorf("%s: through the FIFO came %q, %v", command, text, err)
		}
		if info, err := os.Lstat(fifo); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			t.Errorf("%s: it is no FIFO any more: %v, %v", command, info, err)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// TestMockCommandInterrupted checks that a mock interrupted by a signal ends with the exit code for
// that signal, even if the client command succeeds.
func TestMockCommandInterrupted(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "mock", "--dialect", "agkit", "--expect-report", "report.json", "--",
				"sh", "-c", "touch started; trap 'exit 0' TERM INT; while :; do sleep 0.05; done")
			cmd.Env, cmd.Dir = append(os.Environ(), "STREAMASSAY_TEST_MAIN=1"), dir
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			gomega.NewWithT(t).Eventually(filepath.Join(dir, "started")).WithTimeout(10 * time.Second).Should(gomega.BeAnExistingFile())
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the code says it
			if got := cmd.ProcessState.ExitCode(); got != code {
				t.Errorf("exit %d, want %d", got, code)
			}
			var report struct{ Exit int }
			text, err := os.ReadFile(filepath.Join(dir, "report.json"))
			if err != nil || json.Unmarshal(text, &report) != nil || report.Exit != code {
				t.Errorf("the report is %.100q, %v", text, err)
			}
		})
	}
}
