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

// Limits on a command that transcribes a recording: how many bytes of its output are read, and how
// long it may take to exit after it is killed.
const (
	maxOutput    = 64 << 10    // bytes of its standard output
	maxErrorText = 200         // bytes of the last line of its standard error that an error quotes
	exitTimeout  = time.Second // from the signal to its exit
)

// Placeholders in the arguments of a command: the path of the recording, and its sample
// rate in frames per second.
const (
	pathPlaceholder = "{}"
	ratePlaceholder = "{rate}"
)

// NewCommand returns a transcriber that runs a program for each recording and returns the output of
// the program. The parameter line consists of the program and its arguments, separated by white
// space. A word that contains white space must be in single or double quotes. Backslashes have no
// special meaning, and no shell is involved.
//
// In the arguments, {} stands for the path of the WAV file, which is in a temporary directory, and
// {rate} for the sample rate of the recording in Hz. If no argument contains {}, the program
// receives the file as its standard input. NewCommand returns an error if line names no program, a
// closing quote is missing, or the program is not found.
func NewCommand(line string, cfg Config) (Transcriber, error) {
	words, err := splitCommand(line)
	if err != nil {
		return nil, fmt.Errorf("speech: exec: %w", err)
	}
	if len(words) == 0 {
		return nil, errors.New("speech: exec: missing command (exec:COMMAND ARGS)")
	}
	program := words[0]
	if words[0], err = exec.LookPath(program); err != nil {
		for cause := err; cause != nil; cause = errors.Unwrap(cause) {
			err = cause // at the end the root cause, which does not repeat the name
		}
		return nil, fmt.Errorf("speech: %s: %w", program, err)
	}
	run := func(ctx context.Context, wav []byte) (string, error) { return runCommand(ctx, words, wav) }
	return withLimits(run, cfg.withDefaults()), nil
}

// splitCommand splits a command line into the program and its arguments, as NewCommand describes.
// It returns an error if a closing quote is missing.
func splitCommand(line string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	inside := false // within a word, which may still be empty
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
		return nil, fmt.Errorf("missing closing quote %c", quote)
	}
	if inside {
		words = append(words, word.String())
	}
	return words, nil
}

// runCommand runs a command for the recording wav and returns the standard output of the command
// without surrounding white space. The parameter words holds the program and its arguments, in
// which runCommand replaces the placeholders {} and {rate}. The error wraps ErrUnavailable if the
// recording cannot be written to a file, if the command fails, if its output exceeds maxOutput, or
// if ctx is done. It is that of ParseWAV if wav is not a valid WAV file.
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
		dir, err := os.MkdirTemp("", "speech-") // 0700
		defer os.RemoveAll(dir)
		path = filepath.Join(dir, "recording.wav")
		if err == nil {
			err = os.WriteFile(path, wav, 0o600)
		}
		if err != nil {
			return "", fmt.Errorf("%w: cannot write the recording: %w", ErrUnavailable, err)
		}
	}
	replacer := strings.NewReplacer(pathPlaceholder, path, ratePlaceholder, strconv.Itoa(info.Rate))
	for _, word := range words[1:] {
		cmd.Args = append(cmd.Args, replacer.Replace(word))
	}
	stdout, stderr := &outputBuffer{onFull: func() { cancel(errOutputTooLong) }}, &stderrTail{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, stderr, exitTimeout
	setKillGroup(cmd)
	err = cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // it exited, but its child processes did not
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

var errOutputTooLong = fmt.Errorf("the output of the command exceeds %d bytes", maxOutput)

// An outputBuffer keeps the first maxOutput bytes of the output of a command. When the output
// exceeds that size, Write discards the rest and calls onFull. Write never returns an error.
type outputBuffer struct {
	buf    bytes.Buffer // not embedded, since its ReadFrom has no limit
	onFull func()       // ends the command
}

func (p *outputBuffer) Write(b []byte) (int, error) {
	if room := maxOutput - p.buf.Len(); len(b) > room {
		p.buf.Write(b[:room])
		p.onFull()
		return len(b), nil
	}
	return p.buf.Write(b)
}

// An stderrTail is a writer for the standard error of a command. It keeps only the last
// 4*maxErrorText bytes.
type stderrTail struct{ buf []byte }

func (t *stderrTail) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b[max(0, len(b)-4*maxErrorText):]...)
	t.buf = append(t.buf[:0], t.buf[max(0, len(t.buf)-4*maxErrorText):]...)
	return len(b), nil
}

// lastLine returns ": " and the last line that the command wrote to its standard error, for use in
// an error message. Of that line, only the first maxErrorText bytes are considered, and unprintable
// characters are left out. The result is "" if the command wrote nothing, or only white space.
func (t *stderrTail) lastLine() string {
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
