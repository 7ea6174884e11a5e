package control

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/mockserver"
)

// Limits of what one HTML page shows: the exchanges in the list of the journal, the latest events
// of each stream, and the bytes of each frame or body.
const (
	maxRows        = 50       // exchanges in the list
	maxShownEvents = 30       // events of a stream
	maxShownBytes  = 16 << 10 // bytes of a frame or body
)

// templates returns the templates of the HTML pages. They are parsed by the first call, so that the
// mock starts fast.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"raw":   displayText,
		"frame": func(raw journal.BodyBytes) string { return strings.TrimRight(displayText(raw), "\r\n") },
		"rfc":   func(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) },
	}).ParseFS(pageTemplates, "*.html"))
})

// displayText returns raw as text or, if it is not valid UTF-8, as "base64: " followed by its
// base64 encoding. If raw has more than maxShownBytes bytes, only its beginning is included, up to
// a complete character, followed by the number of the bytes that are left out.
func displayText(raw journal.BodyBytes) string {
	shown, rest := printable.Prefix(raw, maxShownBytes), ""
	if more := len(raw) - len(shown); more > 0 {
		rest = fmt.Sprintf("… and %d bytes more", more)
	}
	if !utf8.Valid(shown) {
		return "base64: " + base64.StdEncoding.EncodeToString(shown) + rest
	}
	return string(shown) + rest
}

// A streamPageData holds the data of a stream that an HTML page shows.
type streamPageData struct {
	mockserver.StreamStatus
	Sent    []journal.SentPiece // the latest events
	From    int                 // number of the first event in Sent, counted from 1
	Endings []string            // the ways to end the stream that the page offers, such as "reset"
}

// newStreamView returns the data that a page shows about the stream whose status is status. If the
// journal no longer contains the exchange of the stream, the data contains no events.
func (s *server) newStreamView(status mockserver.StreamStatus) streamPageData {
	view := streamPageData{StreamStatus: status, From: 1, Endings: endReasons}
	if record, ok := s.journal().Get(status.Entry); ok {
		from := max(0, len(record.Events)-maxShownEvents)
		view.Sent, view.From = record.Events[from:], from+1
	}
	return view
}

// A filterField is an input of the form that filters the journal on the page. Name is a query
// parameter, and Value is its current value.
type filterField struct{ Name, Value string }

// pageFilters lists the query parameters that the inputs of the filter form set.
var pageFilters = []string{"test", "dialect", "op", "status", "rule", "ended", "finding", "contains"}

// servePage handles GET /: it responds with a page that shows the status of the mock, the open
// streams, and the latest exchanges that match the query. If the query is not a valid filter, the
// page shows an error message instead of the exchanges.
func (s *server) servePage(w http.ResponseWriter, r *http.Request, query url.Values) error {
	view := struct {
		Now       mockStatus
		Hold      *int
		Streams   []streamPageData
		Filters   []filterField
		Wrong     string
		Exchanges []journal.Record
		Total     int
	}{Now: s.currentStatus(), Hold: s.mock.Settings("").Hold}
	for _, name := range pageFilters {
		view.Filters = append(view.Filters, filterField{name, query.Get(name)})
		if query.Get(name) == "" { // the form sends empty inputs
			query.Del(name)
		}
	}
	for _, status := range s.streamStatuses(query.Get("test")) {
		view.Streams = append(view.Streams, s.newStreamView(status))
	}
	f, err := s.parseFilter(query)
	if err != nil {
		view.Wrong = err.Error()
	} else {
		view.Exchanges, view.Total = s.newestExchanges(f)
	}
	return renderPage(w, "page.html", view)
}

// newestExchanges returns the newest exchanges that match f, at most maxRows of them, the newest
// first. The second result is the number of all exchanges that match f. The fields Offset and Limit
// of f are ignored.
func (s *server) newestExchanges(f journal.Filter) ([]journal.Record, int) {
	f.Limit = 1
	_, total := s.journal().List(f)
	f.Limit, f.Offset = maxRows, max(0, total-maxRows)
	all, total := s.journal().List(f)
	slices.Reverse(all)
	return all, total
}

// serveExchangePage handles GET /exchanges/{id}: it responds with a page that shows the exchange
// whose id is in the path, or returns an error with status 404 if there is none.
func (s *server) serveExchangePage(w http.ResponseWriter, r *http.Request, query url.Values) error {
	record, err := s.findExchange(r)
	if err != nil {
		return err
	}
	view := struct {
		Record journal.Record
		Stream *streamPageData
	}{Record: record}
	for _, status := range s.streamStatuses("") {
		if status.Entry == record.ID {
			stream := s.newStreamView(status)
			view.Stream = &stream
		}
	}
	return renderPage(w, "exchange.html", view)
}

// renderPage responds with the HTML page that the template with the given name produces from view.
// If the template fails, renderPage writes nothing and returns the error.
func renderPage(w http.ResponseWriter, name string, view any) error {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, view); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	// Escape the complete page, because data of clients may occur anywhere in it. The
	// templates themselves contain only printable characters.
	writeBody(w, http.StatusOK, "text/html; charset=utf-8", []byte(printable.Escape(b.String(), "\n\t")))
	return nil
}
