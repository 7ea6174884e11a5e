// Package speech converts recordings of speech, as WAV files, into text.
package speech

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// MaxBytes is the size limit of a recording in bytes.
const MaxBytes = 10 << 20

// Errors of a transcription. ErrUnavailable stands for all errors of the speech
// recognizer: the recording is valid, and the caller may try again.
var (
	ErrEmpty       = errors.New("the recording is empty")
	ErrTooLarge    = errors.New("the recording is too large")
	ErrNotWAV      = errors.New("the recording is not a supported WAV file")
	ErrUnavailable = errors.New("speech recognition is unavailable")
)

// A Transcriber returns the text of a WAV file. Its error wraps ErrUnavailable if
// recognition failed. Transcribers that Open returns check the file with ParseWAV
// first, and are safe for concurrent use.
type Transcriber func(ctx context.Context, wav []byte) (string, error)

// A Config configures speech recognizers. The zero value of each field is a usable
// default.
type Config struct {
	APIKey        string        // of the service, for "openai:"
	Model         string        // of the service; "" means whisper-1
	Timeout       time.Duration // for one recording, waiting included; 0 means a minute
	MaxConcurrent int           // recordings processed at a time; 0 means one per processor
}

// Backends describes the backends that Open accepts, for help and error messages.
const Backends = "scripted, exec:COMMAND ARGS, openai:BASE_URL or none"

// Open returns the transcriber that spec names, in the form described by [Backends]; "" means
// scripted. It returns an error if spec is invalid or names a program that does not exist. It does
// not contact services.
func Open(spec string, cfg Config) (Transcriber, error) {
	if cfg.Model == "" {
		cfg.Model = "whisper-1"
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.MaxConcurrent <= 0 {
		cfg.MaxConcurrent = runtime.NumCPU()
	}
	kind, rest, _ := strings.Cut(spec, ":")
	switch {
	case spec == "" || spec == "scripted":
		return Scripted, nil
	case spec == "none":
		return requireWAV(func(context.Context, []byte) (string, error) { return "", ErrUnavailable }), nil
	case kind == "exec":
		backend, err := newCommand(rest)
		if err != nil {
			return nil, fmt.Errorf("speech: %w", err)
		}
		return requireWAV(withLimits(backend, cfg)), nil
	case kind == "openai":
		backend, err := newOpenAI(rest, cfg)
		if err != nil {
			return nil, fmt.Errorf("speech: %w", err)
		}
		return requireWAV(withLimits(backend, cfg)), nil
	}
	return nil, fmt.Errorf("speech: unknown backend %q, want %s", kind, Backends)
}

// Scripted is a [Transcriber] for tests. It returns the comment of the file (the chunk
// ICMT in a LIST of type INFO), or else a sentence with the duration of the recording.
func Scripted(_ context.Context, wav []byte) (string, error) {
	info, err := ParseWAV(wav)
	if err != nil {
		return "", err
	}
	if info.Comment != "" {
		return info.Comment, nil
	}
	return fmt.Sprintf("This recording lasts %.1f seconds.", info.Duration.Seconds()), nil
}

// requireWAV returns a transcriber that calls next for valid WAV files and returns the error of
// ParseWAV for all others.
func requireWAV(next Transcriber) Transcriber {
	return func(ctx context.Context, wav []byte) (string, error) {
		if _, err := ParseWAV(wav); err != nil {
			return "", err
		}
		return next(ctx, wav)
	}
}

// withLimits returns a transcriber that makes at most cfg.MaxConcurrent calls of next at a time.
// cfg.Timeout limits the duration of each call, including the wait for its turn.
func withLimits(next Transcriber, cfg Config) Transcriber {
	slots := make(chan struct{}, cfg.MaxConcurrent)
	return func(ctx context.Context, wav []byte) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
		defer cancel()
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
			return "", fmt.Errorf("%w: too many recordings at once: %w", ErrUnavailable, ctx.Err())
		}
		text, err := next(ctx, wav)
		if err != nil && ctx.Err() != nil {
			return "", fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
		}
		return text, err
	}
}
