package mockserver

import (
	"errors"
	"net/http"
	"strings"

	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/spec"
)

// A ReceivedRequest is a request that a server received, with what tests need to know about its
// response.
type ReceivedRequest struct {
	Method, Target string // as in the request line; the target may have a query
	Header         http.Header
	Body           []byte    // its first 64 KiB, unless Config.Journal has another limit
	Operation      string    // kind of the operation, such as "run"; "" if it is unknown
	Thread, Run    string    // ids in the request, each "" if the request has none
	Rule           string    // the script's rule or the recording that matched the request; "" if none did
	Status         int       // status of the response; 0 if it has not been sent yet
	Faults         []string  // the faults that changed the response, each as [Fault] accepts it
	Findings       []Finding // violations of the protocol by the client
}

// A Finding is a violation of the protocol by a client.
type Finding struct {
	Requirement string     // id of the violated requirement; "" if the request belongs to no dialect
	Level       spec.Level // level of the requirement
	Message     string
}

// Requests returns the requests that the journal holds, oldest first: those of the test with the id
// test or, if test is "", all requests. A request belongs to the test that its header X-Test-Id
// names. The values of headers that usually carry credentials are redacted.
func (s *Server) Requests(test string) (all []ReceivedRequest) {
	var filter journal.Filter
	if test != "" {
		filter.Test = &test
	}
	page, _ := s.journal.List(filter)
	for _, r := range page {
		request := ReceivedRequest{
			Method: r.Request.Method, Target: r.Request.Target, Header: http.Header{}, Body: r.Request.Body,
			Operation: r.Op, Thread: r.Thread, Run: r.Run, Rule: r.Rule, Status: r.Status,
		}
		for _, field := range r.Request.Header {
			request.Header.Add(field.Name, field.Value)
		}
		for _, f := range r.Faults {
			request.Faults = append(request.Faults, f.Name)
		}
		for _, f := range r.Findings {
			request.Findings = append(request.Findings, Finding{f.Requirement, f.Level, f.Message})
		}
		all = append(all, request)
	}
	return all
}

// Verify judges the requests that the server received, as "streamassay mock --expect" does. It
// returns an error that lists what is wrong if a client violated a MUST of the protocol, if an
// expected call is missing or surplus, or if no request was received. The argument expectations is
// YAML such as "calls: [{op: run, exactly: 2}]"; if it is empty, no particular calls are expected.
// Verify also returns an error if expectations is invalid.
func (s *Server) Verify(expectations string) error {
	expect, err := journal.LoadExpectations("expectations", strings.NewReader(expectations))
	if err != nil {
		return err
	}
	if outcome := expect.Conclude(s.journal); outcome.Exit != 0 {
		return errors.New(strings.TrimSpace(outcome.Text()))
	}
	return nil
}
