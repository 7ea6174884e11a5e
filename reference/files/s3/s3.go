// Package s3 stores blobs in an object store with the API of Amazon S3.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/streamassay/streamassay/reference/files/blob"
)

// maxAttempts is how often a request is sent if the service is unavailable.
const maxAttempts = 3

// A bucket is a storage in a bucket of an object store.
type bucket struct {
	client *minio.Client
	name   string
}

// Open returns a storage in the bucket that a location names:
//
//	s3://BUCKET?region=REGION&endpoint=URL&use_path_style=true
//
// The defaults are those of the AWS tools: the region and the endpoint come from the environment
// (AWS_REGION, AWS_ENDPOINT_URL), or else Amazon's are used, and the bucket is named in the host
// rather than in the path of requests. Credentials come from the environment, the shared
// configuration files or the machine's role. Open does not contact the service. Its errors contain
// the names of invalid parameters, but no values, which may be secrets.
func Open(location string) (blob.Storage, error) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("s3: invalid location, want s3://BUCKET?region=REGION (credentials come from the environment)")
	}
	q, err := parseParameters(u.RawQuery)
	if err != nil {
		return nil, err
	}
	endpoint, err := parseEndpoint(q.Get("endpoint"))
	if err != nil {
		return nil, err
	}
	pathStyle, err := strconv.ParseBool(cmp.Or(q.Get("use_path_style"), "false"))
	if err != nil {
		return nil, errors.New("s3: invalid value of parameter use_path_style, want true or false")
	}
	options := &minio.Options{
		Creds:        credentials.New(newProvider()),
		Secure:       endpoint.Scheme == "https",
		Region:       cmp.Or(q.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
		BucketLookup: minio.BucketLookupDNS,
		MaxRetries:   maxAttempts,
	}
	// Certificates and addresses do not allow every bucket in the host.
	if pathStyle || strings.Contains(u.Host, ".") || net.ParseIP(endpoint.Hostname()) != nil {
		options.BucketLookup = minio.BucketLookupPath
	}
	client, err := minio.New(endpoint.Host, options)
	if err != nil {
		return nil, errors.New("s3: invalid endpoint")
	}
	client.SetS3EnableDualstack(false)
	return &bucket{client, u.Host}, nil
}

// parseParameters parses the parameters of a location. It returns an error if one is unknown.
func parseParameters(query string) (url.Values, error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("s3: invalid parameters, want NAME=VALUE pairs joined by &")
	}
	known := []string{"region", "endpoint", "use_path_style"}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(known, name) {
			unknown = append(unknown, url.QueryEscape(name))
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("s3: unknown parameter %s, want %s", strings.Join(unknown, ", "), strings.Join(known, ", "))
	}
	return q, nil
}

// parseEndpoint returns the URL of the service. text is the parameter, or "".
func parseEndpoint(text string) (*url.URL, error) {
	text = cmp.Or(text, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, errors.New("s3: invalid endpoint, want http(s)://HOST:PORT without a user")
	}
	return u, nil
}

func (b *bucket) Put(ctx context.Context, path string, data []byte, a blob.Attributes) error {
	_, err := b.client.PutObject(ctx, b.name, path, bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{
		ContentType: a.Type, UserMetadata: a.Metadata, DisableMultipart: true,
	})
	return describe(err)
}

func (b *bucket) Stat(ctx context.Context, path string) (blob.Attributes, error) {
	info, err := b.client.StatObject(ctx, b.name, path, minio.StatObjectOptions{})
	return attributes(info), describe(err)
}

func (b *bucket) Open(ctx context.Context, path string) (io.ReadSeekCloser, blob.Attributes, error) {
	object, err := b.client.GetObject(ctx, b.name, path, minio.GetObjectOptions{})
	if err != nil {
		return nil, blob.Attributes{}, describe(err)
	}
	info, err := object.Stat() // the first request; the content is requested when it is read
	if err != nil {
		_ = object.Close()
		return nil, blob.Attributes{}, describe(err)
	}
	return object, attributes(info), nil
}

// attributes returns the attributes of an object. The names of metadata are in lower case, as in
// requests, whatever their case in the header of the response.
func attributes(info minio.ObjectInfo) blob.Attributes {
	metadata := map[string]string{}
	for name, value := range info.UserMetadata {
		metadata[strings.ToLower(name)] = value
	}
	return blob.Attributes{Type: info.ContentType, Size: info.Size, Metadata: metadata}
}

func (b *bucket) Ping(ctx context.Context) error {
	path := "probe-" + rand.Text() // other processes may call Ping at the same time
	if err := b.Put(ctx, path, make([]byte, blob.ProbeSize), blob.Attributes{}); err != nil {
		return err
	}
	return describe(b.client.RemoveObject(ctx, b.name, path, minio.RemoveObjectOptions{}))
}

// describe converts an error of the client: to one that wraps fs.ErrNotExist if the service says
// that there is no such object, and to one that quotes only the code if it is another error of the
// service, because its messages may repeat credentials.
func describe(err error) error {
	response, ok := errors.AsType[minio.ErrorResponse](err)
	switch {
	case !ok || response.StatusCode == 0:
		return err
	case response.StatusCode == http.StatusNotFound && response.Code == minio.NoSuchKey:
		return fs.ErrNotExist
	}
	return fmt.Errorf("s3: the service responded with status %d, code %.40q", response.StatusCode, response.Code)
}

// A provider provides the credentials of the first of several sources that has some. Without any,
// it returns an error, where its Chain would send requests without a signature.
type provider struct{ credentials.Chain }

func newProvider() *provider {
	return &provider{credentials.Chain{Providers: []credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
	}}}
}

func (p *provider) RetrieveWithCredContext(c *credentials.CredContext) (credentials.Value, error) {
	v, err := p.Chain.RetrieveWithCredContext(c)
	if err == nil && v.SignerType == credentials.SignatureAnonymous {
		err = errors.New("s3: found no credentials: neither in the environment, nor in the shared configuration files, " +
			"nor a role of the machine")
	}
	return v, err
}
