package speech

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// mostAnswer is the bytes of an answer that are read.
const mostAnswer = 1 << 20

// service is an ear that asks an OpenAI-compatible server below a base. What such a
// server answers may repeat the key, so no error passes it on.
func service(base string, cfg Config) (Ear, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("openai: this is no URL; say openai:https://HOST/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("openai: the URL carries more than a path; the key is not said in it")
	}
	opts := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(u.String(), "/") + "/"),
		option.WithMaxRetries(1),
		option.WithHTTPClient(&http.Client{
			Transport:     bounded{http.DefaultTransport},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
	}
	if cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(cfg.Key))
	}
	// Not a whole client: that would read keys and addresses from the environment.
	asr := openai.NewAudioTranscriptionService(opts...)
	return func(ctx context.Context, wav []byte) (string, error) {
		answer, err := asr.New(ctx, openai.AudioTranscriptionNewParams{
			Model: cfg.Model,
			File:  openai.File(bytes.NewReader(wav), "recording.wav", "audio/wav"),
		})
		if err != nil {
			return "", blame(err)
		}
		if answer == nil || !answer.JSON.Text.Valid() { // null is read as nothing
			return "", fmt.Errorf("%w: the service answered without a text", ErrDown)
		}
		return strings.TrimSpace(answer.Text), nil
	}, nil
}

// blame is what is told of an error of the client.
func blame(err error) error {
	var status *openai.Error
	var network *url.Error
	switch {
	case errors.As(err, &status):
		return fmt.Errorf("%w: the service answered %d", ErrDown, status.StatusCode)
	case errors.Is(err, errLong):
		return fmt.Errorf("%w: %w", ErrDown, errLong)
	case errors.As(err, &network):
		return fmt.Errorf("%w: %w", ErrDown, network.Err)
	}
	return fmt.Errorf("%w: the service's answer cannot be read", ErrDown)
}

var errLong = fmt.Errorf("the service answered more than %d bytes", mostAnswer)

// bounded is a transport whose answers end.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &short{resp.Body, mostAnswer}
	}
	return resp, err
}

// short is a body that is an error where it becomes too long.
type short struct {
	io.ReadCloser
	left int
}

func (s *short) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if s.left -= n; s.left < 0 {
		return 0, errLong
	}
	return n, err
}
