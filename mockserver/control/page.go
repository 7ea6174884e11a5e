package control

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/journal"
)

// mostRows is how many exchanges the page lists, mostSent how many events it shows of a
// stream, and mostShown how much of one frame, in bytes.
const (
	mostRows  = 50
	mostSent  = 30
	mostShown = 16 << 10
)

// templates are those of the page. They are made when it is first asked for: a mock that
// nobody looks at starts without them.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"raw":   readable,
		"frame": func(raw journal.Raw) string { return strings.TrimRight(readable(raw), "\r\n") },
		"rfc":   func(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) },
	}).ParseFS(assets, "*.html"))
})

// readable is a text that shows bytes.
func readable(raw journal.Raw) string {
	rest := ""
	if len(raw) > mostShown {
		rest = fmt.Sprintf("… and %d bytes more", len(raw)-mostShown)
		raw = raw[:mostShown]
		for len(raw) > mostShown-utf8.UTFMax && !utf8.Valid(raw) {
			raw = raw[:len(raw)-1]
		}
	}
	if !utf8.Valid(raw) {
		return "base64: " + base64.StdEncoding.EncodeToString(raw) + rest
	}
	return string(raw) + rest
}

// seen is a stream as the page shows it.
type seen struct {
	mockserver.Sight
	Sent    []journal.Sent // the last of what was sent
	From    int            // which the first of them is, from 1
	Endings []string
}

func (s *server) seen(sight mockserver.Sight) seen {
	one := seen{Sight: sight, From: 1, Endings: endings}
	if record, ok := s.journal().Get(sight.Entry); ok {
		from := max(0, len(record.Events)-mostSent)
		one.Sent, one.From = record.Events[from:], from+1
	}
	return one
}

// field is one that filters.
type field struct{ Name, Value string }

// filtered are the parameters that the page asks for.
var filtered = []string{"test", "dialect", "op", "status", "rule", "ended", "finding", "contains"}

// page shows how everything stands.
func (s *server) page(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r, filtered...)
	if err != nil {
		return err
	}
	view := struct {
		Now       standing
		Hold      *int
		Streams   []seen
		Filters   []field
		Wrong     string
		Exchanges []journal.Record
		Total     int
	}{Now: s.standing(), Hold: s.mock.Settings("").Hold}
	for _, name := range filtered {
		view.Filters = append(view.Filters, field{name, q.Get(name)})
		if q.Get(name) == "" { // an empty field of the form
			q.Del(name)
		}
	}
	for _, sight := range s.sights(q.Get("test")) {
		view.Streams = append(view.Streams, s.seen(sight))
	}
	f, err := filterOf(q)
	if err != nil {
		view.Wrong = err.Error()
	} else {
		view.Exchanges, view.Total = s.newest(f)
	}
	return show(w, "page.html", view)
}

// newest are the last exchanges that a filter chooses, the newest first.
func (s *server) newest(f journal.Filter) ([]journal.Record, int) {
	f.Limit = 1
	_, total := s.journal().List(f)
	f.Limit, f.Offset = mostRows, max(0, total-mostRows)
	all, total := s.journal().List(f)
	slices.Reverse(all)
	return all, total
}

// exchangePage shows one exchange.
func (s *server) exchangePage(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	record, err := s.exchangeOf(r)
	if err != nil {
		return err
	}
	view := struct {
		Record journal.Record
		Stream *seen
	}{Record: record}
	for _, sight := range s.sights("") {
		if sight.Entry == record.ID {
			one := s.seen(sight)
			view.Stream = &one
		}
	}
	return show(w, "exchange.html", view)
}

// show answers with a page, whole or not at all.
func show(w http.ResponseWriter, name string, view any) error {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, view); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	// What clients and servers sent stands in the whole of it; the page itself has nothing
	// but printable characters.
	send(w, http.StatusOK, "text/html; charset=utf-8", []byte(printable.Escape(b.String(), "\n\t")))
	return nil
}
