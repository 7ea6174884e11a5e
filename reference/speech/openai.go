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

// maxResponse is the size limit of a response of the service in bytes.
const maxResponse = 1 << 20

// newOpenAI returns a transcriber that uses a server compatible with OpenAI's API. base is the URL
// below which the server provides that API. The transcriber's errors do not quote responses, which
// may repeat the API key.
func newOpenAI(base string, cfg Config) (Transcriber, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("openai: invalid URL, want openai:https://HOST/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("openai: invalid URL, want no user, query or fragment (the key is configured separately)")
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
	// openai.NewClient would read keys and URLs from the environment.
	asr := openai.NewAudioTranscriptionService(opts...)
	return func(ctx context.Context, wav []byte) (string, error) {
		response, err := asr.New(ctx, openai.AudioTranscriptionNewParams{
			Model: cfg.Model,
			File:  openai.File(bytes.NewReader(wav), "recording.wav", "audio/wav"),
		})
		if err != nil {
			return "", serviceError(err)
		}
		if response == nil || !response.JSON.Text.Valid() { // the body was null, or has no text
			return "", fmt.Errorf("%w: the response of the service has no text", ErrUnavailable)
		}
		return strings.TrimSpace(response.Text), nil
	}, nil
}

// serviceError converts an error of the OpenAI client to one that does not quote the response of
// the service. It wraps ErrUnavailable.
func serviceError(err error) error {
	var status *openai.Error
	var network *url.Error
	switch {
	case errors.As(err, &status):
		return fmt.Errorf("%w: the service responded with status %d", ErrUnavailable, status.StatusCode)
	case errors.Is(err, errResponseTooLong):
		return fmt.Errorf("%w: %w", ErrUnavailable, errResponseTooLong)
	case errors.As(err, &network):
		return fmt.Errorf("%w: %w", ErrUnavailable, network.Err)
	}
	return fmt.Errorf("%w: the response of the service is invalid", ErrUnavailable)
}

var errResponseTooLong = fmt.Errorf("the response of the service exceeds %d bytes", maxResponse)

// A limitedTransport limits the size of response bodies to maxResponse bytes.
type limitedTransport struct{ http.RoundTripper }

func (b limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &limitedBody{resp.Body, maxResponse}
	}
	return resp, err
}

// A limitedBody is a response body with a size limit. Its method Read returns an error if the body
// exceeds the limit.
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
