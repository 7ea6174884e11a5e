// Package s3 stores blobs in an object store with the API of Amazon S3.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"

	"github.com/streamassay/streamassay/internal/files/blob"
)

// Limits of requests to the service.
const (
	maxAttempts  = 3                      // for one request, while the service is unavailable
	retryWait    = 200 * time.Millisecond // before the second attempt; doubles for each further one
	maxErrorBody = 64 << 10               // bytes of an error response
)

// metadataPrefix is the beginning of the names of header fields that contain metadata.
const metadataPrefix = "X-Amz-Meta-"

// A bucket is a [blob.Storage] that stores each blob as an object in one bucket of an object store
// with the API of Amazon S3.
type bucket struct {
	url         *url.URL // URL of the bucket, to which the path of an object is appended
	region      string   // for the signatures of requests
	credentials *credentials.Credentials
	client      *http.Client
}

func (b *bucket) Put(ctx context.Context, path string, data []byte, a blob.Attributes) error {
	header := http.Header{}
	if a.Type != "" {
		header.Set("Content-Type", a.Type)
	}
	for name, value := range a.Metadata {
		header.Set(metadataPrefix+name, value)
	}
	return b.doAndClose(ctx, http.MethodPut, path, header, data)
}

func (b *bucket) Stat(ctx context.Context, path string) (blob.Attributes, error) {
	res, err := b.do(ctx, http.MethodHead, path, http.Header{}, nil)
	if err != nil {
		return blob.Attributes{}, err
	}
	return attributes(res), res.Body.Close()
}

func (b *bucket) Open(ctx context.Context, path string) (io.ReadSeekCloser, blob.Attributes, error) {
	get := func(from int64) (*http.Response, error) {
		header := http.Header{}
		if from > 0 {
			header.Set("Range", fmt.Sprintf("bytes=%d-", from))
		}
		return b.do(ctx, http.MethodGet, path, header, nil)
	}
	res, err := get(0)
	if err != nil {
		return nil, blob.Attributes{}, err
	}
	if res.ContentLength < 0 {
		return nil, blob.Attributes{}, errors.Join(errors.New("s3: the response has no length"), res.Body.Close())
	}
	return &objectReader{get: get, body: res.Body, size: res.ContentLength}, attributes(res), nil
}

// attributes returns the attributes of an object from the header of res, a response about the
// object.
func attributes(res *http.Response) blob.Attributes {
	a := blob.Attributes{Type: res.Header.Get("Content-Type"), Size: res.ContentLength, Metadata: map[string]string{}}
	for name := range res.Header {
		if key, ok := strings.CutPrefix(name, metadataPrefix); ok {
			a.Metadata[strings.ToLower(key)] = res.Header.Get(name)
		}
	}
	return a
}

func (b *bucket) Ping(ctx context.Context) error {
	path := "probe-" + rand.Text() // other processes may call Ping at the same time
	if err := b.Put(ctx, path, make([]byte, blob.ProbeSize), blob.Attributes{}); err != nil {
		return err
	}
	return b.doAndClose(ctx, http.MethodDelete, path, http.Header{}, nil)
}

func (b *bucket) doAndClose(ctx context.Context, method, path string, header http.Header, body []byte) error {
	res, err := b.do(ctx, method, path, header, body)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// do sends a signed request for the object at path, which is relative to the bucket, and returns
// the response. It returns an error if the status is not 2xx; the error wraps fs.ErrNotExist if
// there is no such object. If the status is 5xx or 429, or if the service cannot be reached, do
// repeats the request; it makes at most maxAttempts attempts. The caller must close the body of the
// response. The header must not be nil; do adds the field X-Amz-Content-Sha256 to it. A nil body
// means that the request has no body.
func (b *bucket) do(
	ctx context.Context, method, path string, header http.Header, body []byte,
) (*http.Response, error) {
	sum := sha256.Sum256(body)
	header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	for n := 1; ; n++ {
		res, err := b.send(ctx, method, path, header, body)
		if err == nil && res.StatusCode/100 == 2 {
			return res, nil
		}
		mayPass := err != nil && !errors.Is(err, errNoCredentials)
		if err == nil {
			mayPass = res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests
			err = responseError(res)
		}
		if n == maxAttempts || !mayPass {
			return nil, err
		}
		select {
		case <-time.After(retryWait << (n - 1)):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// send signs a request for the object at path, which is relative to the bucket, and sends it once.
// It returns the response, whatever its status; the caller must close the body. It returns an error
// if there are no credentials or the request fails. It does not modify header, which must contain
// X-Amz-Content-Sha256.
func (b *bucket) send(
	ctx context.Context, method, path string, header http.Header, body []byte,
) (*http.Response, error) {
	keys, err := b.credentials.GetWithContext(&credentials.CredContext{Client: b.client, Context: ctx})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, b.url.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	return b.client.Do(signer.SignV4(*req, keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, b.region))
}

// responseError returns the error that a response reports, and closes the body of the response. The
// error is fs.ErrNotExist if the service reports that there is no such object. Any other error
// quotes only the status and the code, because the message may repeat credentials.
func responseError(res *http.Response) error {
	defer res.Body.Close()
	var reported struct{ Code string }
	if body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)); err == nil {
		_ = xml.Unmarshal(body, &reported) // a response to HEAD, or of a proxy, has no code
	}
	if res.StatusCode == http.StatusNotFound && cmp.Or(reported.Code, "NoSuchKey") == "NoSuchKey" {
		return fs.ErrNotExist
	}
	return fmt.Errorf("s3: the service responded with status %d, code %.40q", res.StatusCode, reported.Code)
}
