package suites_test

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// TestReference checks with [suites.Test] that the reference conforms to every dialect.
func TestReference(t *testing.T) {
	for _, name := range dialect.Names() {
		t.Run(name, func(t *testing.T) {
			d, err := dialect.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			cfg := reference.Config{Authenticator: twoUsers(t), Limits: reference.Limits{StreamsPerUser: 40}}
			suites.Test(t, reference.New(d, reference.Scripted, cfg), name, func(target *suites.Target) {
				target.ClaimedCapabilities = []string{"all"}
				target.Header, target.OtherHeader, target.StreamLimit = bearer("token-of-ann"), bearer("token-of-bob"), cfg.Limits.StreamsPerUser
			})
		})
	}
}

// TestDeclare checks with [suites.Declare], in a Ginkgo suite, that the reference conforms to a
// dialect.
func TestDeclare(t *testing.T) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(reference.New(d, reference.Scripted, reference.Config{}))
	defer srv.Close()
	suites.Declare(suites.Target{Dialect: d, ClaimedCapabilities: []string{"all"}, Sequences: 3}, func() *url.URL {
		u, err := url.Parse(srv.URL)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		return u
	})
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.FailOnEmpty = true
	reporter.Succinct = true
	ginkgo.RunSpecs(t, "reference", suite, reporter)
}
