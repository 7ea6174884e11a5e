package journal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Filter chooses exchanges. What is empty chooses all; Offset and Limit are of the
// page, and change nothing about what is counted.
type Filter struct {
	Dialect  string // also its family alone
	Op       string // what the server does ("run"), or the document's name ("POST /runs")
	Method   string
	Path     string // without the query; with * and ?, a pattern
	Status   string // "404", or a class: "4XX"
	Test     *string
	Thread   string
	Run      string
	Rule     string    // "-": none was taken
	Ended    string    // an [End]; "open": it goes on
	Finding  string    // the kind or the requirement of a finding about it; "any": there is one
	Contains string    // stands in the body of the request, as far as that is kept
	Since    time.Time // asked at that time or later
	After    uint64    // has a higher number
	Offset   int
	Limit    int // 0: all

	onlySuccess bool // answered with 2xx
}

// Check says what is wrong with the filter, and what would be right.
func (f Filter) Check() error {
	switch {
	case f.Status != "" && !isValidStatus(f.Status):
		return fmt.Errorf("status %q: it is a number of three digits, or a class such as 4XX", f.Status)
	case f.Ended != "" && f.Ended != "open" && !slices.Contains(EndReasons, EndReason(f.Ended)):
		return fmt.Errorf("ended %q: there are open, %s", f.Ended, joinStrings(EndReasons))
	case f.Op != "" && !slices.Contains(operationKinds, f.Op):
		return fmt.Errorf("op %q: there are %s", f.Op, strings.Join(operationKinds, ", "))
	case f.Offset < 0 || f.Limit < 0:
		return fmt.Errorf("offset %d, limit %d: they are not negative", f.Offset, f.Limit)
	}
	if _, err := path.Match(f.Path, ""); err != nil {
		return fmt.Errorf("path %q: it is a path, or a pattern with * and ?", f.Path)
	}
	return nil
}

// operationKinds are what can be asked for.
var operationKinds = []string{"run", "listen", "cancel", "history", "attach", "sign", "transcribe", "tell"}

func isValidStatus(s string) bool {
	if len(s) != 3 || s[0] < '1' || s[0] > '5' {
		return false
	}
	_, err := strconv.Atoi(s)
	return err == nil || strings.EqualFold(s[1:], "XX")
}

func joinStrings[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, t := range all {
		texts[i] = string(t)
	}
	return strings.Join(texts, ", ")
}

// mismatches are what keeps a slot, which is locked, from being chosen: each says what was
// seen. Findings are not looked at.
func (f Filter) mismatches(s *entryBuffer) (all []string) {
	miss := func(ok bool, name, seen string) {
		if !ok {
			all = append(all, name+" was "+orNone(seen))
		}
	}
	if f.Dialect != "" {
		family, _, _ := strings.Cut(s.dialect, "@")
		miss(f.Dialect == s.dialect || f.Dialect == family, "dialect", s.dialect)
	}
	if f.Op != "" {
		miss(f.Op == s.op || f.Op == s.operation, "op", s.op)
	}
	if f.Method != "" {
		miss(strings.EqualFold(f.Method, s.method), "method", s.method)
	}
	if f.Path != "" {
		asked, _, _ := strings.Cut(s.target, "?")
		ok, _ := path.Match(f.Path, asked)
		miss(ok || f.Path == asked, "path", asked)
	}
	if f.Status != "" {
		seen := strconv.Itoa(s.status)
		miss(f.Status == seen || strings.EqualFold(f.Status, seen[:1]+"XX"), "status", seen)
	}
	miss(!f.onlySuccess || s.status >= 200 && s.status < 300, "status", strconv.Itoa(s.status))
	miss(f.Test == nil || *f.Test == s.test, "test", s.test)
	miss(f.Thread == "" || f.Thread == s.thread, "thread", s.thread)
	miss(f.Run == "" || f.Run == s.run, "run", s.run)
	miss(f.Rule == "" || f.Rule == s.rule || f.Rule == "-" && s.rule == "", "rule", s.rule)
	how := s.endReason
	if how == InProgress {
		how = "open"
	}
	miss(f.Ended == "" || EndReason(f.Ended) == how, "ended", string(how))
	if f.Contains != "" && !bytes.Contains(s.body, []byte(f.Contains)) {
		all = append(all, fmt.Sprintf("body does not contain %.80q", f.Contains))
	}
	if s.mockTime.Before(f.Since) || s.id <= f.After {
		all = append(all, "it was earlier")
	}
	return all
}

func orNone(seen string) string {
	if seen == "" {
		return "none"
	}
	return seen
}

// selectEntries are the exchanges that a filter chooses, by number.
func (j *Journal) selectEntries(f Filter) (all []entryRef) {
	refs := j.entryRefs()
	var seen *history
	for _, r := range refs {
		if !r.lock() {
			continue
		}
		ok := len(f.mismatches(r.buffer)) == 0
		r.buffer.mu.Unlock()
		if ok && f.Finding != "" {
			if seen == nil {
				seen = j.newHistory(refs)
			}
			ok = slices.ContainsFunc(seen.findings(r), func(g Finding) bool {
				return f.Finding == "any" || f.Finding == g.Kind || f.Finding == g.Requirement
			})
		}
		if ok {
			all = append(all, r)
		}
	}
	return all
}

// List is a page of the exchanges that a filter chooses, oldest first, and how many
// there are.
func (j *Journal) List(f Filter) (page []Record, total int) {
	all := j.selectEntries(f)
	total = len(all)
	all = all[min(f.Offset, total):]
	if f.Limit > 0 {
		all = all[:min(f.Limit, len(all))]
	}
	page = []Record{}
	seen := j.newHistory(nil)
	for _, r := range all {
		if record, ok := j.record(r, seen); ok {
			page = append(page, record)
		}
	}
	return page, total
}

func (j *Journal) record(r entryRef, seen *history) (record Record, ok bool) {
	if !r.lock() {
		return record, false
	}
	record = r.buffer.toRecord()
	r.buffer.mu.Unlock()
	record.Findings = append(record.Findings, seen.findings(r)...)
	return record, true
}

// Get is one exchange; ok is false where it is not kept.
func (j *Journal) Get(id uint64) (record Record, ok bool) {
	refs := j.entryRefs()
	i, ok := slices.BinarySearchFunc(refs, id, func(r entryRef, id uint64) int {
		switch {
		case r.id < id:
			return -1
		case r.id > id:
			return 1
		}
		return 0
	})
	if !ok {
		return record, false
	}
	return j.record(refs[i], j.newHistory(refs))
}

// Export writes the exchanges that a filter chooses, one JSON object a line.
func (j *Journal) Export(w io.Writer, f Filter) error {
	seen := j.newHistory(nil)
	all := j.selectEntries(f)
	all = all[min(f.Offset, len(all)):]
	if f.Limit > 0 {
		all = all[:min(f.Limit, len(all))]
	}
	for _, r := range all {
		record, ok := j.record(r, seen)
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

// Wait waits until there are n exchanges that a filter chooses.
func (j *Journal) Wait(ctx context.Context, f Filter, n int) error {
	moved := j.waiters.add()
	defer j.waiters.remove(moved)
	for {
		seen := len(j.selectEntries(f))
		if seen >= n {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d exchanges were seen: %w", seen, n, ctx.Err())
		}
	}
}
