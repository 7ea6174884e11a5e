package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec/dialect"
)

// A Filter selects the exchanges that match all of its non-zero fields. Offset and Limit select a
// page of the matching exchanges. [Filter.Check] validates a filter.
type Filter struct {
	Dialect  string        `json:"dialect" yaml:"dialect"` // name of a dialect or of a family
	Op       string        `json:"op" yaml:"op"`           // kind of the operation, such as "run"
	Method   string        `json:"method" yaml:"method"`
	Path     string        `json:"path" yaml:"path"` // path of the URL or of the operation, or a pattern for path.Match
	Status   StatusPattern `json:"status" yaml:"status"`
	Test     *string       `json:"test" yaml:"-"`            // id of the test; "": exchanges of no test; nil: any test
	Thread   string        `json:"thread" yaml:"thread"`     // id of the conversation
	Run      string        `json:"run" yaml:"run"`           // id of the run
	Rule     string        `json:"rule" yaml:"rule"`         // name of the matching rule or recording; "-": none matched
	Ended    string        `json:"ended" yaml:"ended"`       // an [EndReason], or "open" for exchanges in progress
	Finding  string        `json:"finding" yaml:"-"`         // kind or requirement of a finding; "any": any finding
	Contains string        `json:"contains" yaml:"contains"` // text in the recorded part of the request body
	Since    time.Time     `json:"since" yaml:"-"`           // only exchanges received since then, by the mock's clock
	After    uint64        `json:"after" yaml:"-"`           // only exchanges with a greater id; 0: all
	Offset   int           `json:"-" yaml:"-"`               // number of matching exchanges to skip, the oldest first
	Limit    int           `json:"-" yaml:"-"`               // maximum number of exchanges to select; 0: no limit

	onlySuccess bool // select only responses with a status of 2XX
}

// A StatusPattern is a status code such as "404", or a class of status codes such as "4XX". In JSON
// and YAML, a status code may also be a number.
type StatusPattern string

// UnmarshalJSON implements json.Unmarshaler. It accepts a string or a number; [Filter.Check]
// validates the result.
func (s *StatusPattern) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '"' {
		*s = StatusPattern(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(s))
}

// Check returns an error if a field of f has an invalid value, such as a status of "abc", or if
// f.Dialect is set but names none of the given dialects, which are those of the server.
func (f Filter) Check(dialects []*dialect.Dialect) error {
	switch {
	case f.Dialect != "" && !slices.ContainsFunc(dialects, func(d *dialect.Dialect) bool { return f.hasDialect(d.Name) }):
		names := make([]string, len(dialects))
		for i, d := range dialects {
			names[i] = d.Name
		}
		return fmt.Errorf("invalid dialect %.40q (want %s)", f.Dialect, strings.Join(names, ", "))
	case f.Status != "" && !isValidStatus(f.Status):
		return fmt.Errorf("invalid status %q (want a status code or a class, e.g. 404, 4XX)", f.Status)
	case f.Ended != "" && f.Ended != "open" && !slices.Contains(EndReasons, EndReason(f.Ended)):
		return fmt.Errorf("invalid ended %q (want open, %s)", f.Ended, joinStrings(EndReasons))
	case f.Op != "" && !slices.Contains(operationKinds, f.Op):
		return fmt.Errorf("invalid op %q (want %s)", f.Op, strings.Join(operationKinds, ", "))
	case f.Offset < 0 || f.Limit < 0:
		return fmt.Errorf("invalid offset %d or limit %d (want 0 or more)", f.Offset, f.Limit)
	}
	if _, err := path.Match(f.Path, ""); err != nil {
		return fmt.Errorf("invalid path pattern %q (want a path with the wildcards * and ?)", f.Path)
	}
	return nil
}

// hasDialect reports whether f selects exchanges of the dialect with the given name, that is,
// whether f.Dialect is "", the name, or the family, which is the part of the name before the "@".
func (f Filter) hasDialect(name string) bool {
	family, _, _ := strings.Cut(name, "@")
	return f.Dialect == "" || f.Dialect == name || f.Dialect == family
}

// operationKinds lists the values of Filter.Op that Check accepts. They are the same as those of
// reference.OperationKinds.
var operationKinds = []string{"run", "listen", "cancel", "history", "attach", "sign", "transcribe", "tell"}

// isValidStatus reports whether s is a status code from 100 to 599, or a class such as "4XX" or
// "4xx".
func isValidStatus(s StatusPattern) bool {
	if len(s) != 3 || s[0] < '1' || s[0] > '5' {
		return false
	}
	_, err := strconv.Atoi(string(s))
	return err == nil || strings.EqualFold(string(s[1:]), "XX")
}

// joinStrings returns the given strings as one string, separated by a comma and a space.
func joinStrings[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, t := range all {
		texts[i] = string(t)
	}
	return strings.Join(texts, ", ")
}

// mismatches returns a description such as "status was 404" for each field of the filter that the
// exchange s does not match, or nil if s matches the filter. It ignores the fields Finding, Offset
// and Limit. The caller must hold the lock of s.
func (f Filter) mismatches(s *recordedExchange) (all []string) {
	miss := func(ok bool, name, seen string) {
		if !ok {
			all = append(all, name+" was "+cmp.Or(seen, "none"))
		}
	}
	miss(f.hasDialect(s.dialect), "dialect", s.dialect)
	miss(f.Op == "" || f.Op == s.op, "op", s.op)
	miss(f.Method == "" || strings.EqualFold(f.Method, s.method), "method", s.method)
	target, _, _ := strings.Cut(s.target, "?")
	miss(f.Path == "" || matchesPath(f.Path, target) || matchesPath(f.Path, s.path), "path", cmp.Or(s.path, target))
	status, want := strconv.Itoa(s.status), string(f.Status)
	miss(want == "" || want == status || strings.EqualFold(want, status[:1]+"XX"), "status", status)
	miss(!f.onlySuccess || s.status >= 200 && s.status < 300, "status", status)
	miss(f.Test == nil || *f.Test == s.test, "test", s.test)
	miss(f.Thread == "" || f.Thread == s.thread, "thread", s.thread)
	miss(f.Run == "" || f.Run == s.run, "run", s.run)
	miss(f.Rule == "" || f.Rule == s.rule || f.Rule == "-" && s.rule == "", "rule", s.rule)
	ended := cmp.Or(string(s.endReason), "open")
	miss(f.Ended == "" || f.Ended == ended, "ended", ended)
	if f.Contains != "" && !bytes.Contains(s.body, []byte(f.Contains)) {
		all = append(all, fmt.Sprintf("body does not contain %.80q", f.Contains))
	}
	if s.mockTime.Before(f.Since) || s.id <= f.After {
		all = append(all, "it was received earlier")
	}
	return all
}

// matchesPath reports whether the path is pattern, or matches it as in [path.Match].
func matchesPath(pattern, requested string) bool {
	matches, _ := path.Match(pattern, requested)
	return matches || pattern == requested
}

// selectEntries returns references to the exchanges that match f, sorted by id. It ignores the
// fields Offset and Limit of f.
func (j *Journal) selectEntries(f Filter) (all []exchangeHandle) {
	for _, r := range j.entryRefs() {
		if !r.lock() {
			continue
		}
		ok := len(f.mismatches(r.exchange)) == 0
		r.exchange.mu.Unlock()
		if ok && f.Finding != "" {
			ok = slices.ContainsFunc(j.evaluate(r).findings, func(g Finding) bool { return g.is(f.Finding) })
		}
		if ok {
			all = append(all, r)
		}
	}
	return all
}

// List returns the exchanges that match f, oldest first. The page contains only those that f.Offset
// and f.Limit select and is never nil; total counts all exchanges that match.
func (j *Journal) List(f Filter) (page []Record, total int) {
	all := j.selectEntries(f)
	page = []Record{}
	for _, r := range f.page(all) {
		if record, ok := j.record(r); ok {
			page = append(page, record)
		}
	}
	return page, len(all)
}

// page returns the subslice of all that f.Offset and f.Limit select.
func (f Filter) page(all []exchangeHandle) []exchangeHandle {
	all = all[min(max(f.Offset, 0), len(all)):]
	if f.Limit > 0 {
		all = all[:min(f.Limit, len(all))]
	}
	return all
}

// record returns a snapshot of the exchange to which r refers, with its findings. The result ok is
// false if the exchange was dropped from the journal.
func (j *Journal) record(r exchangeHandle) (record Record, ok bool) {
	if !r.lock() {
		return record, false
	}
	record = r.exchange.toRecord()
	r.exchange.mu.Unlock()
	record.Findings = append(record.Findings, j.evaluate(r).findings...)
	return record, true
}

// Get returns the exchange with the given id. The result ok is false if the journal contains no
// exchange with that id.
func (j *Journal) Get(id uint64) (record Record, ok bool) {
	refs := j.entryRefs()
	i, ok := slices.BinarySearchFunc(refs, id, func(r exchangeHandle, id uint64) int { return cmp.Compare(r.id, id) })
	if !ok {
		return record, false
	}
	return j.record(refs[i])
}

// Export writes the exchanges that match f to w as JSON Lines, oldest first. It writes only those
// that f.Offset and f.Limit select. It stops at the first error from w and returns that error.
func (j *Journal) Export(w io.Writer, f Filter) error {
	for _, r := range f.page(j.selectEntries(f)) {
		record, ok := j.record(r)
		if !ok {
			continue
		}
		line, err := encodeJSON(record)
		if err == nil {
			_, err = w.Write(append(line, '\n'))
		}
		if err != nil {
			return fmt.Errorf("exporting the journal: %w", err)
		}
	}
	return nil
}

// Wait blocks until at least n exchanges match f, and then returns nil. It ignores f.Offset and
// f.Limit. If ctx is done first, it returns an error that wraps ctx.Err and states the number of
// matching exchanges.
func (j *Journal) Wait(ctx context.Context, f Filter, n int) error {
	for {
		changed := j.waiters.wait()
		seen := len(j.selectEntries(f))
		if seen >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("got %d exchanges, want %d: %w", seen, n, ctx.Err())
		}
	}
}
