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

// Most is the bytes of one recording.
const Most = 10 << 20

// Why there is no text. Whatever else went wrong with a recogniser is ErrDown: the
// recording is fine, and may be sent again.
var (
	ErrEmpty    = errors.New("the recording is empty")
	ErrTooLarge = errors.New("the recording is too large")
	ErrFormat   = errors.New("not a WAV recording")
	ErrDown     = errors.New("speech recognition is not available")
)

// An Ear says what was said in a WAV file. One that Open made looks at the file
// with Check first, so that no recogniser sees anything else.
type Ear func(ctx context.Context, wav []byte) (string, error)

// Config is what recognisers want to know; the zero value is usable.
type Config struct {
	Key    string        // of the service, for openai
	Model  string        // of the service; "" is whisper-1
	Wait   time.Duration // how long one recording may take; 0 is a minute
	AtOnce int           // how many are listened to at once, the others wait; 0 is one for each processor
}

// Forms are the specs that Open understands.
const Forms = "scripted, exec:COMMAND ARGS, openai:BASE_URL or none"

// Open makes the ear that a spec names. "" is scripted.
func Open(spec string, cfg Config) (Ear, error) {
	if cfg.Model == "" {
		cfg.Model = "whisper-1"
	}
	if cfg.Wait <= 0 {
		cfg.Wait = time.Minute
	}
	if cfg.AtOnce <= 0 {
		cfg.AtOnce = runtime.NumCPU()
	}
	kind, rest, _ := strings.Cut(spec, ":")
	switch {
	case spec == "" || spec == "scripted":
		return Scripted, nil
	case spec == "none":
		return checked(func(context.Context, []byte) (string, error) { return "", ErrDown }), nil
	case kind == "exec":
		hear, err := command(rest)
		if err != nil {
			return nil, fmt.Errorf("speech: %w", err)
		}
		return checked(patient(hear, cfg)), nil
	case kind == "openai":
		hear, err := service(rest, cfg)
		if err != nil {
			return nil, fmt.Errorf("speech: %w", err)
		}
		return checked(patient(hear, cfg)), nil
	}
	return nil, fmt.Errorf("speech: %q is none of %s", kind, Forms)
}

// Scripted hears what stands in the file: the comment, if it has one (ICMT in a
// LIST of type INFO), so that a test can say what is heard; else how long it lasts.
func Scripted(_ context.Context, wav []byte) (string, error) {
	sound, err := Check(wav)
	if err != nil {
		return "", err
	}
	if sound.Comment != "" {
		return sound.Comment, nil
	}
	return fmt.Sprintf("This recording lasts %.1f seconds.", sound.Duration.Seconds()), nil
}

// checked is an ear that is spared what is no WAV.
func checked(hear Ear) Ear {
	return func(ctx context.Context, wav []byte) (string, error) {
		if _, err := Check(wav); err != nil {
			return "", err
		}
		return hear(ctx, wav)
	}
}

// patient is an ear that hears a few recordings at once and gives up in time. The
// wait for a turn counts.
func patient(hear Ear, cfg Config) Ear {
	turns := make(chan struct{}, cfg.AtOnce)
	return func(ctx context.Context, wav []byte) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, cfg.Wait)
		defer cancel()
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-ctx.Done():
			return "", fmt.Errorf("%w: too many recordings at once: %w", ErrDown, ctx.Err())
		}
		text, err := hear(ctx, wav)
		if err != nil && ctx.Err() != nil {
			return "", fmt.Errorf("%w: %w", ErrDown, ctx.Err())
		}
		return text, err
	}
}
