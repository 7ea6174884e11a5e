package s3

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/streamassay/streamassay/internal/files/blob"
)

// Open returns a storage in the bucket that a location names:
//
//	s3://BUCKET?region=REGION&endpoint=URL&use_path_style=true
//
// The parameters are optional. The region defaults to AWS_REGION or AWS_DEFAULT_REGION in the
// environment. The endpoint defaults to AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL in the environment,
// and without these to that of Amazon S3 in the region. Credentials come from the environment, the
// shared configuration files or the machine's role.
//
// Requests name the bucket in the host of their URL. They name it in the path instead if
// use_path_style is true, if the bucket's name contains a dot, or if the endpoint is an IP address.
//
// Open does not contact the service. It returns an error if location is invalid, or if there is
// neither a region nor an endpoint. The error contains the names of invalid parameters, but no
// values, which may be secrets.
func Open(location string) (blob.Storage, error) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("s3: invalid location, want s3://BUCKET?region=REGION (credentials come from the environment)")
	}
	q, err := parseParameters(u.RawQuery)
	if err != nil {
		return nil, err
	}
	pathStyle, err := strconv.ParseBool(cmp.Or(q.Get("use_path_style"), "false"))
	if err != nil {
		return nil, errors.New("s3: invalid value of parameter use_path_style, want true or false")
	}
	region := cmp.Or(q.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	endpoint, err := parseEndpoint(q.Get("endpoint"), region)
	if err != nil {
		return nil, err
	}
	// Certificates and addresses do not allow every bucket in the host.
	if pathStyle || strings.Contains(u.Host, ".") || net.ParseIP(endpoint.Hostname()) != nil {
		endpoint = endpoint.JoinPath(u.Host)
	} else {
		endpoint.Host = u.Host + "." + endpoint.Host
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // the length of an object is that of its response
	return &bucket{
		url: endpoint, region: cmp.Or(region, "us-east-1"),
		credentials: credentials.New(&credentialsProvider{credentials.Chain{Providers: []credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}}}),
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// parseParameters parses the parameters of a location. It returns an error if query is invalid or
// contains an unknown parameter.
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

// parseEndpoint returns the URL of the service: text or, if text is "", the URL in the environment
// or, if there is none, the URL of Amazon S3 in the region. It returns an error if the URL is
// invalid, or if it depends on the region and region is "".
func parseEndpoint(text, region string) (*url.URL, error) {
	text = cmp.Or(text, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	switch {
	case text == "" && region == "":
		return nil, errors.New("s3: missing region, want s3://BUCKET?region=REGION")
	case text == "" && strings.HasPrefix(region, "cn-"):
		text = "https://s3." + region + ".amazonaws.com.cn"
	case text == "":
		text = "https://s3." + region + ".amazonaws.com"
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, errors.New("s3: invalid endpoint, want http(s)://HOST:PORT without a user")
	}
	return u, nil
}

var errNoCredentials = errors.New("s3: found no credentials: neither in the environment, nor in the shared " +
	"configuration files, nor a role of the machine")

// A credentialsProvider returns the credentials from the first source in its Chain that has any. If
// there are none, it returns errNoCredentials, whereas the Chain alone would return empty
// credentials.
type credentialsProvider struct{ credentials.Chain }

func (p *credentialsProvider) RetrieveWithCredContext(c *credentials.CredContext) (credentials.Value, error) {
	v, err := p.Chain.RetrieveWithCredContext(c)
	if err == nil && v.SignerType == credentials.SignatureAnonymous {
		err = errNoCredentials
	}
	return v, err
}
