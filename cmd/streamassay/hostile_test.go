package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Limits of the time and the memory (resident, in MiB) that a run against a hostile target may use.
const (
	maxHostileTime   = 60 * time.Second
	maxHostileMemory = 512 // MiB
)

// A toll holds the cost and the result of one run against a hostile target.
type toll struct {
	target, family string
	took           time.Duration
	memory         int64 // MiB, at its peak
	exit           int
	says           string
	report         tollReport
	cpu            time.Duration
}

// A tollReport is the part of a JSON report that the test reads.
type tollReport struct {
	Dialects []struct {
		Checks []struct {
			ID, Scenario, Verdict, Note string
			Findings                    []struct{ Message string }
		}
	}
}

// TestHostile checks that the program ends in bounded time and memory, with the right exit code,
// when it tests hostile targets. By default it tries a few targets with short limits, each in one
// dialect. With the environment variable HOSTILE=docs it tries all targets with the default limits
// and writes docs/hostile.md (make hostile). With any other value it tries the targets whose names
// begin with that value.
func TestHostile(t *testing.T) {
	t.Parallel()
	only := os.Getenv("HOSTILE")
	args := []string{"--timeout", "4s", "--idle-timeout", "2s", "--max-events", "20000"}
	if only != "" {
		args = nil
	}
	var tolls []*toll
	turn := 0 // in the short form each target speaks one dialect, the next one another
	for _, h := range slices.Concat(hostileStreams, hostileConns) {
		if only == "" && !h.short || only != "" && only != "docs" && !strings.HasPrefix(h.name, only) {
			continue
		}
		turn++
		for i, k := range tongues {
			if only == "" && i != turn%len(tongues) {
				continue
			}
			got := &toll{target: h.name, family: k.dialect}
			tolls = append(tolls, got)
			t.Run(h.name+" as "+k.dialect, func(t *testing.T) {
				t.Parallel()
				h.measure(t, k, args, got)
				h.check(t, *got)
			})
		}
	}
	t.Cleanup(func() { // when the last of them is over
		if only != "docs" || slices.ContainsFunc(tolls, func(got *toll) bool { return got.took == 0 }) {
			return
		}
		if err := os.WriteFile("../../docs/hostile.md", hostileDocument(tolls), 0o644); err != nil {
			t.Error(err)
		}
	})
}

// measure runs the program once against the target h and stores the cost and the result in got.
// args are additional arguments of the program.
func (h hostile) measure(t *testing.T, k tongue, args []string, got *toll) {
	file := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.Command(os.Args[0], append([]string{"run", h.start(t, k), "--dialect", k.dialect, "--report", "json=" + file}, args...)...)
	cmd.Env = append(os.Environ(), "STREAMASSAY_TEST_MAIN=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.AfterFunc(3*maxHostileTime, func() { _ = cmd.Process.Kill() })
	peak := watchMemory(cmd.Process.Pid)
	_ = cmd.Wait()
	deadline.Stop()
	got.took, got.exit = time.Since(began), cmd.ProcessState.ExitCode()
	got.memory = peak()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &got.report)
	}
	if err != nil {
		t.Fatalf("no report after %v (exit %d): %v\n%s", got.took, got.exit, err, out.Bytes())
	}
	got.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	got.says = firstFinding(got.report)
	t.Logf("%.1f s (%.1f s of processors), %d MiB, exit %d: %s", got.took.Seconds(), got.cpu.Seconds(), got.memory, got.exit, got.says)
}

// watchMemory starts to watch the memory of a process. It returns a function that ends the watching
// and returns the peak, in MiB, or 0 on systems without /proc. The peak is not taken from wait4,
// because that includes memory of the parent process.
func watchMemory(pid int) (peak func() int64) {
	over, last := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		most := int64(0)
		for {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if _, rest, ok := strings.Cut(string(status), "\nVmHWM:"); ok {
				kilobytes := int64(0)
				_, _ = fmt.Sscan(rest, &kilobytes)
				most = max(most, kilobytes>>10)
			}
			select {
			case <-over:
				last <- most
				return
			case <-tick.C:
			}
		}
	}()
	return func() int64 { close(over); return <-last }
}

// check fails the test if the cost exceeds a limit, or if the exit code or the results of the
// checks are not those expected of h.
func (h hostile) check(t *testing.T, got toll) {
	if got.took > maxHostileTime {
		t.Errorf("it took %v", got.took)
	}
	if got.memory > maxHostileMemory {
		t.Errorf("it took %d MiB", got.memory)
	}
	if got.exit != h.exit && h.exit >= 0 {
		t.Errorf("exit %d, want %d", got.exit, h.exit)
	}
	said := false
	isStarved := got.cpu < got.took*2/3 // by other processes; the client may then reach its limit of time first
	for _, d := range got.report.Dialects {
		for _, c := range d.Checks {
			for _, f := range c.Findings {
				said = said || strings.Contains(f.Message, h.says) || isStarved && strings.Contains(f.Message, "had not ended after")
			}
			if c.Verdict == "error" && h.exit != 3 { // 3: nothing can be told of such a target
				t.Errorf("%s in %s could not tell: %s", c.ID, c.Scenario, c.Note)
			}
		}
	}
	if !said && h.says != "" {
		t.Errorf("no finding says %q", h.says)
	}
}

// firstFinding returns the message of the first finding in the scenario text or, if there is none,
// of the first finding or failed check in any scenario. It returns "" if there is nothing of the
// kind.
func firstFinding(r tollReport) (message string) {
	for _, d := range r.Dialects {
		for _, c := range d.Checks {
			for _, f := range c.Findings {
				if c.Scenario == "text" {
					return f.Message
				}
				if message == "" {
					message = f.Message
				}
			}
			if message == "" && c.Verdict == "failed" {
				message = c.Note
			}
		}
	}
	return message
}

// hostileDocument returns the text of docs/hostile.md, with one line in its table for each of the
// tolls.
func hostileDocument(tolls []*toll) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# What hostile targets cost

<!-- Written by make hostile: go test ./cmd/streamassay -run TestHostile, HOSTILE=docs. -->

A run ends in bounded time and memory, whatever its target does: see --timeout, --idle-timeout, --max-bytes and
--max-events. The table shows %d targets in four families of protocols, each run with the defaults, on %d processors:
the duration, the peak of the resident memory, the exit code, and the first finding, of scenario text if it has one.
The bounds are %v and %d MiB. A short form of the test is part of the ordinary tests.

| target | dialect | s | MiB | exit | first finding |
|---|---|--:|--:|--:|---|
`, len(tolls)/len(tongues), runtime.NumCPU(), maxHostileTime, maxHostileMemory)
	for _, got := range tolls {
		says := []rune(strings.Join(strings.Fields(got.says), " "))
		if len(says) > 100 {
			says = append(says[:100], '…')
		}
		fmt.Fprintf(&b, "| %s | %s | %.1f | %d | %d | %s |\n", got.target, got.family, got.took.Seconds(), got.memory, got.exit,
			strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(string(says)))
	}
	return b.Bytes()
}
