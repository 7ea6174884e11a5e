// Package speech converts recordings of speech, as WAV files, into text.
package speech

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// MaxBytes is the maximum size of a recording, in bytes.
const MaxBytes = 10 << 20

// Errors that a [Transcriber] returns. ErrUnavailable means that the speech recognizer failed: the
// recording is valid, and the caller may try again.
var (
	ErrEmpty       = errors.New("the recording is empty")
	ErrTooLarge    = errors.New("the recording is too large")
	ErrNotWAV      = errors.New("the recording is not a supported WAV file")
	ErrUnavailable = errors.New("speech recognition is unavailable")
)

// A Transcriber returns the text that is spoken in the recording wav, the content of a WAV file.
// Its error wraps ErrUnavailable if recognition failed. Transcribers of this package check the file
// with ParseWAV first, and are safe for concurrent use.
type Transcriber func(ctx context.Context, wav []byte) (string, error)

// A Config configures a [Transcriber]. The zero value of each field is a usable default.
type Config struct {
	APIKey        string        // bearer token for NewOpenAI; "" means that none is sent
	Model         string        // name of the model, for NewOpenAI; "" means whisper-1
	Timeout       time.Duration // time limit for one recording, including the time in a queue; 0 means a minute
	MaxConcurrent int           // maximum number of recordings processed at a time; 0 means one per processor
}

// withDefaults returns a copy of c in which Model, Timeout and MaxConcurrent have their default
// values if they are "", 0 or negative.
func (c Config) withDefaults() Config {
	c.Model = cmp.Or(c.Model, "whisper-1")
	c.Timeout = cmp.Or(max(c.Timeout, 0), time.Minute)
	c.MaxConcurrent = cmp.Or(max(c.MaxConcurrent, 0), runtime.NumCPU())
	return c
}

// None returns a transcriber for servers without speech recognition. The transcriber returns the
// error ErrUnavailable for a valid WAV file, and the error of ParseWAV for other data.
func None() Transcriber {
	return func(_ context.Context, wav []byte) (string, error) {
		_, err := ParseWAV(wav)
		return "", cmp.Or(err, ErrUnavailable)
	}
}

// Scripted is a [Transcriber] for tests. It returns the comment in the WAV data (the ICMT chunk in
// a LIST chunk of type INFO) or, without a comment, a sentence with the duration of the recording.
// Any error is that of ParseWAV.
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

// withLimits returns a transcriber that calls next for valid WAV files, and returns the error of
// ParseWAV for others. At most cfg.MaxConcurrent calls of next run at the same time; others wait.
// The duration of a call, including the wait, is limited by cfg.Timeout. If ctx is done or the
// timeout has passed, the error wraps ErrUnavailable. cfg.MaxConcurrent and cfg.Timeout must be
// positive.
func withLimits(next Transcriber, cfg Config) Transcriber {
	slots := make(chan struct{}, cfg.MaxConcurrent)
	return func(ctx context.Context, wav []byte) (string, error) {
		if _, err := ParseWAV(wav); err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
		defer cancel()
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // with or without a turn, which may have come too late
			return "", fmt.Errorf("%w: too many recordings at once: %w", ErrUnavailable, ctx.Err())
		}
		text, err := next(ctx, wav)
		if err != nil && ctx.Err() != nil {
			return "", fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
		}
		return text, err
	}
}
