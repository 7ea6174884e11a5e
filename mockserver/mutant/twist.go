package mutant

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A twist stands in front of the server.
type twist = func(next http.Handler) http.Handler

// A view is one request as it comes, whole and understood.
type view struct {
	dialect *dialect.Dialect
	request spec.Request
	event   spec.Event         // what it means, if it is not large
	heard   func() *spec.Event // what it means, and where it breaks the document
	http    *http.Request
}

// large is how many bytes a request has, at least, that is only understood if need be.
const large = 1 << 20

// mostRead bounds the body of a request: more than any document allows.
const mostRead = 32 << 20

// speaking is what the server of a twist says that it speaks: a mock of one dialect.
type speaking interface{ Dialects() []*dialect.Dialect }

// seeing makes a twist that sees each request, and serves it. Before what speaks no
// dialect it does nothing, so that the mutant survives.
func seeing(serve func(w http.ResponseWriter, v view, next http.Handler)) twist {
	return func(next http.Handler) http.Handler {
		server, ok := next.(speaking)
		if !ok || len(server.Dialects()) != 1 {
			return next
		}
		d := server.Dialects()[0]
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostRead))
			if err != nil {
				return // who sent no whole request waits for no answer
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			serve(w, understood(d, r, body), next)
		})
	}
}

// understood is what a request means in a dialect.
func understood(d *dialect.Dialect, r *http.Request, body []byte) view {
	target := strings.TrimPrefix(r.URL.EscapedPath(), d.Base)
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}
	req := spec.Request{Method: r.Method, Target: target, Body: body}
	for name, values := range r.Header {
		for _, v := range values {
			req.Header = append(req.Header, spec.Field{Name: name, Value: v})
		}
	}
	v := view{dialect: d, request: req, http: r}
	v.heard = sync.OnceValue(func() *spec.Event { // to understand a large file takes its time
		e := d.ParseRequest(req)
		return &e
	})
	if len(body) <= large {
		v.event = *v.heard()
	}
	return v
}

// says whether the request asks for the operation of a phrase: "history".
func (v view) says(phrase string) bool {
	o, ok := v.dialect.TemplateOperation(phrase)
	return ok && v.dialect.Operation(v.request) == o
}

// opens says whether the request asks for a run.
func (v view) opens() bool {
	o := v.dialect.Operation(v.request)
	return o != nil && o.StartsRun
}

// demanded are what the document wants of the refusal of a request that has one fault,
// as far as these requirements are behind it.
func (v view) demanded(laws []string) (all []spec.RefusalRequirement) {
	if len(v.heard().Violations) != 1 {
		return nil
	}
	for _, d := range v.heard().Violations[0].Refusals {
		if slices.Contains(laws, d.Requirement) {
			all = append(all, d)
		}
	}
	return all
}

// upholds says whether the request has no fault and exercises a requirement.
func (v view) upholds(law string) bool {
	return v.heard().Valid() && slices.Contains(v.heard().Exercised, law)
}

// as is the request with another in its place: who asks stays the same.
func (v view) as(r spec.Request) *http.Request {
	out := v.http.Clone(v.http.Context())
	out.Method, out.RequestURI = r.Method, v.dialect.Base+r.Target
	if u, err := url.ParseRequestURI(out.RequestURI); err == nil {
		u.Host, u.Scheme = v.http.URL.Host, v.http.URL.Scheme
		out.URL = u
	}
	out.Header = http.Header{}
	for _, f := range r.Header {
		if f.Name != "Authorization" {
			out.Header.Add(f.Name, f.Value)
		}
	}
	if own := v.http.Header.Values("Authorization"); len(own) > 0 {
		out.Header["Authorization"] = own
	}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(r.Body)), int64(len(r.Body))
	return out
}

// A reply is an answer that is no stream, before it is sent.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// replying makes a twist that edits the replies to some requests. Streams go through.
func replying(edit func(v view, a *reply)) twist {
	return seeing(func(w http.ResponseWriter, v view, next http.Handler) {
		h := &holding{w: w, header: http.Header{}}
		next.ServeHTTP(h, v.http)
		if h.streams || h.status == 0 {
			return
		}
		a := reply{status: h.status, header: h.header, body: h.body.Bytes()}
		edit(v, &a)
		a.send(w)
	})
}

func (a *reply) send(w http.ResponseWriter) {
	clear(w.Header())
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if a.status == http.StatusNoContent {
		a.body = nil
		w.Header().Del("Content-Length")
	} else {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // who left does not want it
}

// json edits the members of a body that is a JSON object, and leaves any other as it is.
func (a *reply) json(edit func(m map[string]any)) {
	var m map[string]any
	in := json.NewDecoder(bytes.NewReader(a.body))
	in.UseNumber()
	if in.Decode(&m) != nil || m == nil {
		return
	}
	edit(m)
	if out, err := json.Marshal(m); err == nil {
		a.body = out
	}
}

// A holding is a writer that holds replies back, and lets streams through.
type holding struct {
	w       http.ResponseWriter
	header  http.Header
	status  int
	body    bytes.Buffer
	streams bool
}

func (h *holding) Header() http.Header { return h.header }

func (h *holding) WriteHeader(status int) {
	if h.status != 0 {
		return
	}
	h.status = status
	if h.streams = strings.HasPrefix(h.header.Get("Content-Type"), spec.EventStream); h.streams {
		for name, values := range h.header {
			h.w.Header()[name] = values
		}
		h.w.WriteHeader(status)
	}
}

func (h *holding) Write(data []byte) (int, error) {
	if h.WriteHeader(http.StatusOK); h.streams {
		return h.w.Write(data)
	}
	return h.body.Write(data)
}

// FlushError flushes streams; what is held back has time.
func (h *holding) FlushError() error {
	if !h.streams {
		return nil
	}
	return http.NewResponseController(h.w).Flush()
}

// Unwrap lets deadlines be set.
func (h *holding) Unwrap() http.ResponseWriter { return h.w }

// A memory is which conversations were begun, and by whom.
type memory struct {
	mu    sync.Mutex
	owner map[string]string   // thread → who, as the header says it
	order map[string][]string // who → threads, the first one first
	pages map[string][]any    // thread → messages of it that were told

	eldest string // who was the first to begin one
}

// remembering makes a twist that remembers conversations.
func remembering(with func(m *memory) twist) twist {
	return func(next http.Handler) http.Handler {
		m := &memory{owner: map[string]string{}, order: map[string][]string{}, pages: map[string][]any{}}
		inner := with(m)(next)
		note := seeing(func(w http.ResponseWriter, v view, _ http.Handler) {
			if who := v.http.Header.Get("Authorization"); v.opens() && v.heard().Valid() && who != "" {
				m.mu.Lock()
				if _, ok := m.owner[v.heard().Thread]; !ok {
					m.owner[v.heard().Thread] = who
					m.order[who] = append(m.order[who], v.heard().Thread)
					if m.eldest == "" {
						m.eldest = who
					}
				}
				m.mu.Unlock()
			}
			inner.ServeHTTP(w, v.http)
		})
		return note(next)
	}
}

func (m *memory) first(who string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if all := m.order[who]; len(all) > 0 {
		return all[0]
	}
	return ""
}

// asking makes a server that reads requests for a history otherwise. Edit sees the
// parameters.
func asking(edit func(v view, q url.Values)) twist {
	return seeing(func(w http.ResponseWriter, v view, next http.Handler) {
		r := v.http
		if v.says("history") && v.heard().Valid() {
			asked := v.request
			path, query, _ := strings.Cut(asked.Target, "?")
			q, _ := url.ParseQuery(query)
			edit(v, q)
			asked.Target = path + "?" + q.Encode()
			r = v.as(asked)
		}
		next.ServeHTTP(w, r)
	})
}

// deny makes a reply say that there is nothing.
func (a *reply) deny() {
	a.status = http.StatusNotFound
	a.header.Set("Content-Type", "application/problem+json")
	a.body = []byte(`{"type":"about:blank","title":"Not Found","status":404,"detail":"there is no such conversation","code":"NOT_FOUND"}`)
}
