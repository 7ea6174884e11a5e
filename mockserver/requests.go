package mockserver

import (
	"errors"
	"net/http"
	"strings"

	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/spec"
)

// A ReceivedRequest describes a request that a server received, and its response.
type ReceivedRequest struct {
	Method, Target string // as in the request line; the target may have a query
	Header         http.Header
	Body           []byte    // first 64 KiB of the body; [Config].Journal can set another limit
	Operation      string    // kind of the operation, such as "run"; "" if it is unknown
	Thread, Run    string    // ids of the thread and the run that the request names; "" if it names none
	Rule           string    // the script rule or the recording that matched the request; "" if none did
	Status         int       // status of the response; 0 if it has not been sent yet
	Faults         []string  // the faults that changed the response, each in the form that [Fault] accepts
	Findings       []Finding // violations of the protocol by the client
}

// A Finding is a violation of the protocol by a client.
type Finding struct {
	Requirement string     // id of the violated requirement; "" if the request belongs to no dialect
	Level       spec.Level // level of the requirement
	Message     string
}

// Requests returns the requests in the journal, oldest first. If test is not "", it returns only
// those whose header X-Test-Id is test. The values of headers that usually contain credentials are
// redacted.
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

// Verify checks the requests that the server received, as the command "streamassay mock --expect"
// does. The parameter expectations is YAML such as "calls: [{op: run, exactly: 2}]"; if it is
// empty, any calls are allowed. Verify returns an error that lists the problems if a client
// violated a MUST of the protocol, if the calls differ from the expectations, or if the server
// received no request. It also returns an error if the expectations are invalid.
func (s *Server) Verify(expectations string) error {
	expect, err := journal.LoadExpectations("expectations", strings.NewReader(expectations), s.Dialects())
	if err != nil {
		return err
	}
	if outcome := expect.Conclude(s.journal); outcome.Exit != 0 {
		return errors.New(strings.TrimSpace(outcome.Text()))
	}
	return nil
}
