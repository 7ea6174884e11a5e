// Package speech says what was said in a recording. It knows nothing of HTTP
// servers, users or dialects: bytes of a WAV go in, a text comes out.
package speech

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// MaxBytes is the bytes of one recording.
const MaxBytes = 10 << 20

// Why there is no text. Whatever else went wrong with a recogniser is ErrUnavailable: the
// recording is fine, and may be sent again.
var (
	ErrEmpty       = errors.New("the recording is empty")
	ErrTooLarge    = errors.New("the recording is too large")
	ErrNotWAV      = errors.New("not a WAV recording")
	ErrUnavailable = errors.New("speech recognition is not available")
)

// An Transcriber says what was said in a WAV file. One that Open made looks at the file
// with Check first, so that no recogniser sees anything else.
type Transcriber func(ctx context.Context, wav []byte) (string, error)

// Config is what recognisers want to know; the zero value is usable.
type Config struct {
	APIKey        string        // of the service, for openai
	Model         string        // of the service; "" is whisper-1
	Timeout       time.Duration // how long one recording may take; 0 is a minute
	MaxConcurrent int           // how many are listened to at once, the others wait; 0 is one for each processor
}

// Backends are the specs that Open understands.
const Backends = "scripted, exec:COMMAND ARGS, openai:BASE_URL or none"

// Open makes the ear that a spec names. "" is scripted.
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
	return nil, fmt.Errorf("speech: %q is none of %s", kind, Backends)
}

// Scripted hears what stands in the file: the comment, if it has one (ICMT in a
// LIST of type INFO), so that a test can say what is heard; else how long it lasts.
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

// requireWAV is an ear that is spared what is no WAV.
func requireWAV(next Transcriber) Transcriber {
	return func(ctx context.Context, wav []byte) (string, error) {
		if _, err := ParseWAV(wav); err != nil {
			return "", err
		}
		return next(ctx, wav)
	}
}

// withLimits is an ear that hears a few recordings at once and gives up in time. The
// wait for a turn counts.
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
