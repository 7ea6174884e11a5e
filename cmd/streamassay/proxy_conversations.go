package main

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
)

// maxProxiedBytes is the maximum total size, in bytes, of the bodies that a proxy keeps to judge
// them.
const maxProxiedBytes = 256 << 20

// A proxiedConversations holds the conversations that passed through a proxy, and writes their
// transcripts to a directory if there is one. The zero value is empty. Its methods may be called
// concurrently.
type proxiedConversations struct {
	dir     *replay.RecordingDir // directory for transcripts; nil means none
	dirPath string               // path of dir, for reports

	mu         sync.Mutex
	all        map[int]replay.RecordedConversation // by [replay.RecordedConversation.Number]
	bytes      int                                 // size of the bodies in all
	incomplete string                              // why exchanges are missing; "" if none are
	foreign    int                                 // number of exchanges that called no operation of the dialect
	foreignWhy string                              // the last of these requests, and why it called no operation
	unreached  int                                 // number of requests for which the server was not reached
	reason     error                               // why the server was not reached, at the last of these requests
}

// countForeign adds 1 to s.foreign and sets s.foreignWhy if the request of x called no operation of
// the proxy's dialect.
func (s *proxiedConversations) countForeign(x replay.RecordedExchange) {
	if x.SkipReason != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.foreign++
		path, _, _ := strings.Cut(x.Exchange.Request.Target, "?")
		s.foreignWhy = printableLine([]byte(x.Exchange.Request.Method+" "+path)) + ": " + x.SkipReason
	}
}

// countUnreached counts a request for which the server was not reached because of err.
func (s *proxiedConversations) countUnreached(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreached++
	s.reason = err
}

// nothingReason returns why s has no conversations of the dialect with the given name. The argument
// command states whether the proxy ran a client command.
func (s *proxiedConversations) nothingReason(dialect string, command bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.unreached > 0:
		return fmt.Sprintf("the server could not be reached (%s): %v", printable.Count(s.unreached, "request"), s.reason)
	case s.foreign > 0:
		return fmt.Sprintf("no request called an operation of %s (%s; the last one, %s)",
			dialect, printable.Count(s.foreign, "request"), s.foreignWhy)
	}
	if command {
		return "no request reached the proxy: COMMAND must send its requests to the URL in PROXY_URL"
	}
	return "no request reached the proxy"
}

// save stores the conversation c, replacing an earlier version with the same Number, and writes its
// transcript. If s would then exceed [maxRecordings] conversations or [maxProxiedBytes], it sets
// s.incomplete instead, and drops the earlier version. That version must not be judged, because a
// check could report a violation that one of the missing exchanges would explain. save returns an
// error if the transcript cannot be written.
func (s *proxiedConversations) save(c replay.RecordedConversation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.all[c.Number]
	more := c.Bytes - before.Bytes
	if s.bytes+more > maxProxiedBytes || !known && len(s.all) >= maxRecordings {
		s.incomplete = fmt.Sprintf("conversations beyond %d, or beyond %s of bodies, were not judged",
			maxRecordings, formatSize(maxProxiedBytes))
		delete(s.all, c.Number)
		s.bytes -= before.Bytes
		return nil
	}
	if s.all == nil {
		s.all = map[int]replay.RecordedConversation{}
	}
	markOtherUsers(&c.Trace)
	s.all[c.Number] = c
	s.bytes += more
	if s.dir == nil {
		return nil
	}
	return s.dir.Save(c)
}

// markOtherUsers sets the principal of each request in t that seems to come from another user than
// [spec.PrimaryUser]. The credentials of the primary user are those of the first successful request
// that has any. Before that request, the primary user has none. The new principal is:
//   - [spec.UnknownUser] for other credentials and status 401
//   - [spec.OtherUser] for other credentials and status 403 or 404
//   - [spec.Anonymous] for no credentials and status 401 or 403, if the primary user has any
//
// Other requests are not changed. For example, a successful request with other credentials is
// assumed to come from the primary user.
func markOtherUsers(t *spec.Trace) {
	user := ""
	for i := range t.Exchanges {
		x := &t.Exchanges[i]
		given, status := credentials(x.Request.Header), x.Response.Status
		switch {
		case user == "" && status/100 == 2:
			user = given
		case given == user:
		case given == "" && (status == http.StatusUnauthorized || status == http.StatusForbidden):
			x.Request.Principal = spec.Anonymous
		case given != "" && status == http.StatusUnauthorized:
			x.Request.Principal = spec.UnknownUser
		case given != "" && (status == http.StatusForbidden || status == http.StatusNotFound):
			x.Request.Principal = spec.OtherUser
		}
	}
}

// credentials returns the fields of h that identify the user, such as Authorization, as sorted
// lines of the form "name: value" with the names in lower case. It returns "" if there are none.
func credentials(h spec.Header) string {
	var all []string
	for _, f := range h {
		if redact.IdentifiesUser(f.Name) {
			all = append(all, strings.ToLower(f.Name)+": "+f.Value)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// transcripts returns the conversations as transcripts without credentials, in the order in which
// they began, and removes them from s. Each has a unique name: the path of its file or, without a
// directory, a name made from the id of the thread. transcripts returns an error if the text of a
// transcript cannot be parsed.
func (s *proxiedConversations) transcripts() (list []*transcript.Transcript, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := map[string]bool{}
	for _, n := range slices.Sorted(maps.Keys(s.all)) {
		c := s.all[n]
		delete(s.all, n)
		name := c.Name()
		for i := 2; taken[name]; i++ {
			name = c.Name() + "-" + strconv.Itoa(i)
		}
		taken[name] = true
		if s.dir != nil {
			name = filepath.Join(s.dirPath, s.dir.FileName(c))
		}
		t, err := transcript.Parse(name, transcript.Format(c.Transcript()))
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}
