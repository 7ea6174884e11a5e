package speech

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// What a command may say, and how long it may take to leave once it was told to.
const (
	maxOutput    = 64 << 10 // bytes of its output
	maxErrorText = 200      // bytes of what it complained of last that are passed on
	exitTimeout  = time.Second
)

// What stands in a command for the path of the recording, and for the frames that
// it has in a second: some recognisers have to be told.
const (
	pathPlaceholder = "{}"
	ratePlaceholder = "{rate}"
)

// newCommand is an ear that runs a program for each recording. Where {} stands in its
// arguments it finds the path of the WAV, in a directory of its own that is gone
// afterwards; without any {} it reads the WAV from its standard input. What it
// prints is the text. For {rate} it finds how many frames a second has. There is no
// shell.
func newCommand(line string) (Transcriber, error) {
	words, err := splitCommand(line)
	if err != nil {
		return nil, fmt.Errorf("exec: %w", err)
	}
	if len(words) == 0 {
		return nil, errors.New("exec: there is no command; say exec:COMMAND ARGS")
	}
	if words[0], err = exec.LookPath(words[0]); err != nil {
		return nil, fmt.Errorf("exec: %w", err)
	}
	return func(ctx context.Context, wav []byte) (string, error) { return runCommand(ctx, words, wav) }, nil
}

// splitCommand makes words of a command: they are parted by white space, but not within
// '...' or "...". There are no escapes: whoever needs one kind of quote puts it into
// the other kind.
func splitCommand(line string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	inside := false // a word has begun, though it may be empty
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inside = r, true
		case quote == 0 && unicode.IsSpace(r):
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	if inside {
		words = append(words, word.String())
	}
	return words, nil
}

// runCommand runs a command once.
func runCommand(ctx context.Context, words []string, wav []byte) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, words[0])
	info, err := ParseWAV(wav)
	if err != nil {
		return "", err
	}
	path := ""
	if !strings.Contains(strings.Join(words[1:], " "), pathPlaceholder) {
		cmd.Stdin = bytes.NewReader(wav)
	} else {
		var remove func()
		path, remove, err = writeTempFile(wav)
		defer remove()
		if err != nil {
			return "", fmt.Errorf("%w: the recording cannot be handed over: %w", ErrUnavailable, err)
		}
	}
	replacer := strings.NewReplacer(pathPlaceholder, path, ratePlaceholder, strconv.Itoa(info.Rate))
	for _, word := range words[1:] {
		cmd.Args = append(cmd.Args, replacer.Replace(word))
	}
	stdout, stderr := &outputBuffer{onFull: func() { cancel(errOutputTooLong) }}, &errorTail{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, stderr, exitTimeout
	setKillGroup(cmd)
	err = cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // it left, but not what it had started
		_ = cmd.Cancel()
	}
	switch {
	case context.Cause(ctx) != nil:
		return "", fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	case err != nil:
		return "", fmt.Errorf("%w: %s: %w%s", ErrUnavailable, filepath.Base(words[0]), err, stderr.lastLine())
	}
	return strings.TrimSpace(strings.ToValidUTF8(stdout.buf.String(), "\uFFFD")), nil
}

var errOutputTooLong = fmt.Errorf("the command says more than %d bytes", maxOutput)

// writeTempFile writes a recording where nobody else reads it; remove is never nil.
func writeTempFile(wav []byte) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "speech-") // 0700
	if err != nil {
		return "", func() {}, err
	}
	path = filepath.Join(dir, "recording.wav")
	return path, func() { _ = os.RemoveAll(dir) }, os.WriteFile(path, wav, 0o600)
}

// A outputBuffer takes what a command prints, until it is full. What comes then is dropped:
// an error here would leave a program hanging that does not care for SIGPIPE.
type outputBuffer struct {
	buf    bytes.Buffer // not embedded: its ReadFrom would read without an end
	onFull func()
}

func (p *outputBuffer) Write(b []byte) (int, error) {
	if room := maxOutput - p.buf.Len(); len(b) > room {
		p.buf.Write(b[:room])
		p.onFull()
		return len(b), nil
	}
	return p.buf.Write(b)
}

// A errorTail takes what a command complains of, and keeps the end.
type errorTail struct{ buf []byte }

func (t *errorTail) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b[max(0, len(b)-4*maxErrorText):]...)
	t.buf = append(t.buf[:0], t.buf[max(0, len(t.buf)-4*maxErrorText):]...)
	return len(b), nil
}

// lastLine is the last line, fit to stand at the end of an error.
func (t *errorTail) lastLine() string {
	text := strings.TrimSpace(string(t.buf))
	text = text[strings.LastIndexByte(text, '\n')+1:]
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), maxErrorText)], ""))
	if text == "" {
		return ""
	}
	return ": " + text
}
