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

// maxResponse is the bytes of an answer that are read.
const maxResponse = 1 << 20

// newOpenAI is an ear that asks an OpenAI-compatible server below a base. What such a
// server answers may repeat the key, so no error passes it on.
func newOpenAI(base string, cfg Config) (Transcriber, error) {
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
			Transport:     limitedTransport{http.DefaultTransport},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	// Not a whole client: that would read keys and addresses from the environment.
	asr := openai.NewAudioTranscriptionService(opts...)
	return func(ctx context.Context, wav []byte) (string, error) {
		answer, err := asr.New(ctx, openai.AudioTranscriptionNewParams{
			Model: cfg.Model,
			File:  openai.File(bytes.NewReader(wav), "recording.wav", "audio/wav"),
		})
		if err != nil {
			return "", serviceError(err)
		}
		if answer == nil || !answer.JSON.Text.Valid() { // null is read as nothing
			return "", fmt.Errorf("%w: the service answered without a text", ErrUnavailable)
		}
		return strings.TrimSpace(answer.Text), nil
	}, nil
}

// serviceError is what is told of an error of the client.
func serviceError(err error) error {
	var status *openai.Error
	var network *url.Error
	switch {
	case errors.As(err, &status):
		return fmt.Errorf("%w: the service answered %d", ErrUnavailable, status.StatusCode)
	case errors.Is(err, errResponseTooLong):
		return fmt.Errorf("%w: %w", ErrUnavailable, errResponseTooLong)
	case errors.As(err, &network):
		return fmt.Errorf("%w: %w", ErrUnavailable, network.Err)
	}
	return fmt.Errorf("%w: the service's answer cannot be read", ErrUnavailable)
}

var errResponseTooLong = fmt.Errorf("the service answered more than %d bytes", maxResponse)

// limitedTransport is a transport whose answers end.
type limitedTransport struct{ http.RoundTripper }

func (b limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &limitedBody{resp.Body, maxResponse}
	}
	return resp, err
}

// limitedBody is a body that is an error where it becomes too long.
type limitedBody struct {
	io.ReadCloser
	remaining int
}

func (s *limitedBody) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if s.remaining -= n; s.remaining < 0 {
		return 0, errResponseTooLong
	}
	return n, err
}
