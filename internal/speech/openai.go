package speech

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of requests to a service: on the size of a response, and on the time before a retry.
const (
	maxResponse   = 1 << 20                // bytes of a response
	retryDelay    = 500 * time.Millisecond // before a failed request is repeated
	maxRetryDelay = time.Minute            // greatest Retry-After after which a request is repeated
)

// An openAIClient is a client of a server that is compatible with OpenAI's transcription API.
type openAIClient struct {
	Config
	url    string // URL of the transcription endpoint
	client *http.Client
}

// NewOpenAI returns a transcriber that uses a server compatible with OpenAI's API. The parameter
// base is the base URL of that API, such as https://HOST/v1. NewOpenAI returns an error unless base
// is an http or https URL without user information, query or fragment. The transcriber's errors do
// not quote responses of the server, which may contain the API key.
func NewOpenAI(base string, cfg Config) (Transcriber, error) {
	cfg = cfg.withDefaults()
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("speech: openai: invalid URL, want openai:https://HOST/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("speech: openai: invalid URL, want no user, query or fragment " +
			"(the key is configured separately)")
	}
	noRedirects := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s := &openAIClient{cfg, u.JoinPath("audio/transcriptions").String(), &http.Client{CheckRedirect: noRedirects}}
	return withLimits(s.transcribe, cfg), nil
}

// transcribe sends a recording to the service and returns the text of the recording. It repeats the
// request once after a failure that may be temporary. Its errors wrap ErrUnavailable.
func (s *openAIClient) transcribe(ctx context.Context, wav []byte) (string, error) {
	form, contentType := s.encodeForm(wav)
	res, err := s.send(ctx, form, contentType)
	if delay, ok := retryAfter(res, err); ok {
		if err == nil {
			res.Body.Close()
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
		res, err = s.send(ctx, form, contentType)
	}
	if err != nil {
		if network, ok := errors.AsType[*url.Error](err); ok {
			err = network.Err // the URL is the caller's own
		}
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return "", fmt.Errorf("%w: the service responded with status %d", ErrUnavailable, res.StatusCode)
	}
	return readText(res.Body)
}

// encodeForm returns the multipart/form-data body of a request to transcribe wav, the content of a
// WAV file, and the value of the Content-Type header.
func (s *openAIClient) encodeForm(wav []byte) (form []byte, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("model", s.Model) // writing to a buffer never fails
	file, _ := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="recording.wav"`}, "Content-Type": {"audio/wav"},
	})
	_, _ = file.Write(wav)
	_ = w.Close()
	return b.Bytes(), w.FormDataContentType()
}

// send sends a request with the given body once and returns the response, whatever its status. The
// caller must close the body of the response. If there is no response, it returns the error from
// package net/http.
func (s *openAIClient) send(ctx context.Context, form []byte, contentType string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(form))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", "application/json")
	if s.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+s.APIKey)
	}
	return s.client.Do(req)
}

// retryAfter reports whether a request should be repeated (ok), and the time to wait before that.
// The parameters are the results of the first attempt. The result ok is true if err is not nil, or
// if the status of res means a temporary failure, unless the server asks for a wait of more than
// maxRetryDelay.
func retryAfter(res *http.Response, err error) (delay time.Duration, ok bool) {
	if err != nil {
		return retryDelay, true
	}
	switch status := res.StatusCode; {
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooManyRequests,
		status >= 500:
		if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds >= 0 {
			return time.Duration(seconds) * time.Second, seconds <= int(maxRetryDelay.Seconds())
		}
		return retryDelay, true
	}
	return 0, false
}

// readText returns the member "text" of the JSON object in a response body, without surrounding
// white space. The error wraps ErrUnavailable if the body cannot be read, is larger than
// maxResponse, is not valid JSON or has no such member.
func readText(body io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxResponse+1))
	if len(data) > maxResponse {
		return "", fmt.Errorf("%w: the response of the service exceeds %d bytes", ErrUnavailable, maxResponse)
	}
	var response struct{ Text *string }
	if err != nil || json.Unmarshal(data, &response) != nil {
		return "", fmt.Errorf("%w: the response of the service is invalid", ErrUnavailable)
	}
	if response.Text == nil {
		return "", fmt.Errorf("%w: the response of the service has no text", ErrUnavailable)
	}
	return strings.TrimSpace(*response.Text), nil
}
