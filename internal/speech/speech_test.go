package speech

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// open returns the transcriber that spec names: scripted, none, exec:COMMAND or openai:BASE_URL.
// The test ends if that fails.
func open(t *testing.T, spec string, cfg Config) Transcriber {
	t.Helper()
	hear, err := tryOpen(spec, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return hear
}

func tryOpen(spec string, cfg Config) (Transcriber, error) {
	kind, rest, _ := strings.Cut(spec, ":")
	switch kind {
	case "scripted":
		return Scripted, nil
	case "none":
		return None(), nil
	case "exec":
		return NewCommand(rest, cfg)
	}
	return NewOpenAI(rest, cfg)
}

func TestScripted(t *testing.T) {
	for want, wav := range map[string][]byte{
		"This recording lasts 1.0 seconds.": riff(mono, second),
		"what is the weather?":              riff(mono, second, said("what is the weather?")),
	} {
		if got, err := Scripted(t.Context(), wav); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
}

// TestCheckedFirst checks that no backend receives anything but WAV files, and that the backend
// "none" is always unavailable.
func TestCheckedFirst(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	for _, spec := range []string{"scripted", "none", "exec:touch " + mark, "openai:http://127.0.0.1:1/v1"} {
		hear := open(t, spec, Config{})
		for want, wav := range map[error]string{ErrEmpty: "", ErrNotWAV: "<html>", ErrTooLarge: strings.Repeat("x", MaxBytes+1)} {
			if _, err := hear(t.Context(), []byte(wav)); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", spec, err, want)
			}
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command ran")
	}
	if _, err := open(t, "none", Config{})(t.Context(), riff(mono, second)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("none: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for spec, want := range map[string]string{
		"exec":                             "exec:COMMAND",
		"exec:":                            "exec:COMMAND",
		"exec:cat 'x":                      "missing closing quote",
		"exec:no-such-command-anywhere {}": "speech: no-such-command-anywhere: executable file not found in $PATH",
		"exec:/no/such":                    "speech: /no/such: no such file or directory",
		"openai:":                          "openai:https://HOST/v1",
		"openai:localhost:8080":            "openai:https://HOST/v1",
		"openai:http://u:secret@h/v1":      "no user, query or fragment",
		"openai:http://h/v1?key=secret":    "no user, query or fragment",
		"openai:http://h\x7f/?key=secret":  "openai:https://HOST/v1",
	} {
		_, err := tryOpen(spec, Config{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %q", spec, err, want)
		}
	}
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"":                     nil,
		" a  b\tc ":            {"a", "b", "c"},
		`a 'b c' "d  e" ''`:    {"a", "b c", "d  e", ""},
		`a"b 'c'"d`:            {"ab 'c'd"},
		`'"' "'"`:              {`"`, `'`},
		`a\ b $HOME * ; | > &`: {`a\`, "b", "$HOME", "*", ";", "|", ">", "&"},
	} {
		if got, err := splitCommand(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}

// needs skips a test if a program is not installed.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("NOT RUN: NOBODY LISTENED: the program %s is not installed", p)
		}
	}
}

func TestExec(t *testing.T) {
	needs(t, "sh", "cat", "cmp")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	wav := riff(mono, second)
	same := filepath.Join(t.TempDir(), "same.wav")
	if err := os.WriteFile(same, wav, 0o600); err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]string{
		"exec:echo ' hello  world '":                             "hello  world",
		"exec:sh -c 'cmp - \"$0\" && echo same' " + same:         "same", // on stdin
		"exec:sh -c 'cmp \"$0\" \"$1\" && echo same' {} " + same: "same",
		"exec:stat -c %a {}":                                     "600",
		"exec:sh -c 'stat -c %a \"$(dirname \"$0\")\"' {}":       "700",
		"exec:sh -c 'basename ${0#--in=}' --in={}":               "recording.wav",
		"exec:echo rate={rate}":                                  "rate=16000",
		"exec:true":                                              "",
		`exec:printf a\377b`:                                     "a\uFFFDb",
		"exec:sh -c 'printf %065536d 1'":                         strings.Repeat("0", maxOutput-1) + "1",
	} {
		if got, err := open(t, spec, Config{})(t.Context(), wav); err != nil || got != want {
			t.Errorf("%s: got %.99q, %v", spec, got, err)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestExecFails(t *testing.T) {
	needs(t, "sh", "sleep", "yes", "false")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for spec, want := range map[string]string{
		"exec:false": "false: exit status 1",
		"exec:sh -c 'printf \"one\\ntwo\\tthree\\n\\n\" >&2; exit 3'": "exit status 3: twothree",
		"exec:sh -c 'kill -9 $$'":                                     "killed",
		"exec:sleep 60":                                               "deadline",
		"exec:sh -c 'trap \"\" TERM PIPE; yes' {}":                    "65536 bytes",
		"exec:yes":                           "65536 bytes",
		"exec:sh -c 'yes >&2' {}":            "deadline",
		"exec:sh -c 'sleep 60 & echo hello'": "WaitDelay",
	} {
		t.Run(spec, func(t *testing.T) {
			start := time.Now()
			wait := 300 * time.Millisecond
			if want == "WaitDelay" || want == "65536 bytes" {
				wait = time.Minute
			}
			_, err := open(t, spec, Config{Timeout: wait})(t.Context(), riff(mono, second))
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			if strings.ContainsAny(err.Error(), "\n\t") || len(err.Error()) > 400 {
				t.Errorf("unfit error %q", err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// sphinx is the spec of a transcriber that runs pocketsphinx, as recommended in the documentation.
const sphinx = "exec:pocketsphinx_continuous -infile {} -samprate {rate} -nfft 2048 -logfn /dev/null"

// TestReal checks that a real recognizer understands a real synthesizer. It selects a voice that is
// intelligible at any speed; with the default voice, "hello" is recognized as "well".
func TestReal(t *testing.T) {
	needs(t, "espeak-ng", "pocketsphinx_continuous")
	path := filepath.Join(t.TempDir(), "hello.wav")
	args := []string{"-v", "en-us+michel", "-s", "150"}
	if out, err := exec.Command("espeak-ng", append(args, "-w", path, "hello world")...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	streamed, err := exec.Command("espeak-ng", append(args, "--stdout", "hello world")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, wav := range map[string][]byte{"file": whole, "pipe": streamed} {
		sound, err := ParseWAV(wav)
		if err != nil || sound.Format != "pcm" || sound.Channels != 1 || sound.Bits != 16 || sound.Duration < time.Second/2 || sound.Duration > 5*time.Second {
			t.Errorf("%s: %+v, %v", name, sound, err)
		}
		got, err := open(t, sphinx, Config{})(t.Context(), wav)
		t.Logf("%s: got %q in %v at %d Hz", name, got, sound.Duration, sound.Rate)
		if err != nil || !strings.Contains(got, "hello") {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}
