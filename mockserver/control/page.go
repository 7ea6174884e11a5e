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

// maxRows is how many exchanges the page lists, maxShownEvents how many events it shows of a
// stream, and maxShownBytes how much of one frame, in bytes.
const (
	maxRows        = 50
	maxShownEvents = 30
	maxShownBytes  = 16 << 10
)

// templates are those of the page. They are made when it is first asked for: a mock that
// nobody looks at starts without them.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"raw":   displayText,
		"frame": func(raw journal.Raw) string { return strings.TrimRight(displayText(raw), "\r\n") },
		"rfc":   func(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) },
	}).ParseFS(assets, "*.html"))
})

// displayText is a text that shows bytes.
func displayText(raw journal.Raw) string {
	rest := ""
	if len(raw) > maxShownBytes {
		rest = fmt.Sprintf("… and %d bytes more", len(raw)-maxShownBytes)
		raw = raw[:maxShownBytes]
		for len(raw) > maxShownBytes-utf8.UTFMax && !utf8.Valid(raw) {
			raw = raw[:len(raw)-1]
		}
	}
	if !utf8.Valid(raw) {
		return "base64: " + base64.StdEncoding.EncodeToString(raw) + rest
	}
	return string(raw) + rest
}

// streamView is a stream as the page shows it.
type streamView struct {
	mockserver.StreamStatus
	Sent    []journal.SentPiece // the last of what was sent
	From    int                 // which the first of them is, from 1
	Endings []string
}

func (s *server) newStreamView(status mockserver.StreamStatus) streamView {
	one := streamView{StreamStatus: status, From: 1, Endings: endReasons}
	if record, ok := s.journal().Get(status.Entry); ok {
		from := max(0, len(record.Events)-maxShownEvents)
		one.Sent, one.From = record.Events[from:], from+1
	}
	return one
}

// filterField is one that filters.
type filterField struct{ Name, Value string }

// pageFilters are the parameters that the page asks for.
var pageFilters = []string{"test", "dialect", "op", "status", "rule", "ended", "finding", "contains"}

// servePage shows how everything stands.
func (s *server) servePage(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r, pageFilters...)
	if err != nil {
		return err
	}
	view := struct {
		Now       statusJSON
		Hold      *int
		Streams   []streamView
		Filters   []filterField
		Wrong     string
		Exchanges []journal.Record
		Total     int
	}{Now: s.currentStatus(), Hold: s.mock.Settings("").Hold}
	for _, name := range pageFilters {
		view.Filters = append(view.Filters, filterField{name, q.Get(name)})
		if q.Get(name) == "" { // an empty field of the form
			q.Del(name)
		}
	}
	for _, sight := range s.streamStatuses(q.Get("test")) {
		view.Streams = append(view.Streams, s.newStreamView(sight))
	}
	f, err := parseFilter(q)
	if err != nil {
		view.Wrong = err.Error()
	} else {
		view.Exchanges, view.Total = s.newestExchanges(f)
	}
	return renderPage(w, "page.html", view)
}

// newestExchanges are the last exchanges that a filter chooses, the newest first.
func (s *server) newestExchanges(f journal.Filter) ([]journal.Record, int) {
	f.Limit = 1
	_, total := s.journal().List(f)
	f.Limit, f.Offset = maxRows, max(0, total-maxRows)
	all, total := s.journal().List(f)
	slices.Reverse(all)
	return all, total
}

// serveExchangePage shows one exchange.
func (s *server) serveExchangePage(w http.ResponseWriter, r *http.Request) error {
	if _, err := parseQuery(r); err != nil {
		return err
	}
	record, err := s.findExchange(r)
	if err != nil {
		return err
	}
	view := struct {
		Record journal.Record
		Stream *streamView
	}{Record: record}
	for _, sight := range s.streamStatuses("") {
		if sight.Entry == record.ID {
			one := s.newStreamView(sight)
			view.Stream = &one
		}
	}
	return renderPage(w, "exchange.html", view)
}

// renderPage answers with a page, whole or not at all.
func renderPage(w http.ResponseWriter, name string, view any) error {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, view); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	// What clients and servers sent stands in the whole of it; the page itself has nothing
	// but printable characters.
	writeBody(w, http.StatusOK, "text/html; charset=utf-8", []byte(printable.Escape(b.String(), "\n\t")))
	return nil
}
