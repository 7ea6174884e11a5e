package dialect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// ErrNoWord says that a dialect has nothing to say a kind with.
var ErrNoWord = errors.New("the dialect has no word for it")

// Has says whether a stream of o can say e.
func (o *Operation) Has(e spec.Event) bool {
	return e.Kind == spec.Done && o.sentinel != "" || wordFor(o.frames, e.Kind, &e) != nil
}

// wordFor is the first word of a kind whose marks e's slots do not contradict. What a
// dialect has no own words for is spelled like a message's.
func wordFor(words []*word, k spec.Kind, e *spec.Event) *word {
	for _, w := range words {
		if w.kind == k && w.says(e) {
			return w
		}
	}
	if k == spec.ReasoningDelta {
		return wordFor(words, spec.MessageDelta, e)
	}
	return nil
}

// says is whether the word's constants agree with what e's slots ask for.
func (w *word) says(e *spec.Event) bool {
	for _, c := range w.constants {
		if want := *c.slot(e); want != "" && want != c.value {
			return false
		}
	}
	return true
}

// A constant is what a slot is in all that a word says.
type constant struct {
	slot  func(*spec.Event) *string
	value string
}

// constantsOf are those of a word whose marks and slots are known.
func constantsOf(w *word) (all []constant) {
	for _, m := range w.marks {
		for _, site := range w.slots {
			if slices.Equal(site.path, m.path) {
				all = append(all, constant{slots[site.slot], carry(m.value)})
			}
		}
	}
	return all
}

// Append spells e as a frame of the stream that o answers with, at the end of dst.
// It is ErrNoWord if the dialect cannot say it.
func (o *Operation) Append(dst []byte, e *spec.Event) ([]byte, error) {
	switch {
	case e.Kind == spec.Comment:
		return sse.AppendComment(dst, e.Text), nil
	case e.Kind == spec.Done && o.sentinel != "":
		return sse.Append(dst, sse.Frame{Data: []byte(o.sentinel)})
	}
	w := wordFor(o.frames, e.Kind, e)
	if w == nil {
		return dst, fmt.Errorf("%s: %w", e.Kind, ErrNoWord)
	}
	head := sse.Frame{}
	if o.tells.event != "" {
		head.Event = w.form.text(o.tells.event, e)
	}
	if o.tells.id {
		head.ID, head.HasID = e.Cursor, e.Cursor != ""
	}
	begin := len(dst)
	dst, err := sse.Append(dst, head)
	if err != nil {
		return dst, err
	}
	if len(dst) > begin {
		dst = dst[:len(dst)-1] // the frame goes on
	}
	dst, _ = w.form.append(append(dst, "data: "...), e) // compact JSON is one line
	return append(dst, "\n\n"...), nil
}

// AppendCursor spells where the next frame of o's stream stands, at the end of dst:
// Append spells it as well, where the event has a cursor.
func (o *Operation) AppendCursor(dst []byte, cursor string) []byte {
	if o.tells.id {
		dst = append(append(append(dst, "id: "...), cursor...), '\n')
	}
	return dst
}

// Sentinel says whether a server of ours closes a stream with the in-band
// terminator.
func (o *Operation) Sentinel() bool { return o.sentinel != "" && o.tells.sentinel }

// An Answer is a reply that is no stream, as the document spells it.
type Answer struct {
	Status int
	Media  string // "" if there is no body
	Body   []byte
}

// Answer spells the event that answers a whole request; e.HTTP says which of the
// operation's replies it is, 0 the success. A text that e does not say is the one
// that the document gives as its example.
func (o *Operation) Answer(e spec.Event) Answer {
	if e.StatusCode == 0 {
		e.StatusCode = o.status
	}
	r, ok := o.reply(e.StatusCode)
	if !ok || len(r.words) == 0 {
		return Answer{Status: e.StatusCode}
	}
	if e.Text == "" && !isJSON(r.media) {
		e.Text = r.example
	}
	if !isJSON(r.media) {
		return Answer{e.StatusCode, r.media, []byte(e.Text)}
	}
	w := wordFor(r.words, e.Kind, &e)
	if w == nil {
		w = r.words[0]
	}
	return Answer{e.StatusCode, r.media, w.append(nil, &e)}
}

// append spells a word that says e, which need not be an object, at the end of dst.
func (w *word) append(dst []byte, e *spec.Event) []byte {
	if slices.Contains(w.node.get("type").strings(), "string") {
		return appendString(dst, cmp.Or(e.Text, w.node.get("x-write").text()))
	}
	dst, _ = w.form.append(dst, e)
	return dst
}

// text is a member of the form as a text.
func (f *form) text(name string, e *spec.Event) string {
	i := slices.IndexFunc(f.fields, func(m *field) bool { return m.name == name })
	if i < 0 {
		return ""
	}
	if m := f.fields[i]; m.said != nil && *m.said(e) != "" {
		return *m.said(e)
	}
	return carry(f.fields[i].constant)
}

// Around says which message a content of this kind stands in, in dialects that
// put everything into messages: its type and role. ok is false where contents of
// the kind stand alone.
func (o *Operation) Around(k spec.Kind) (kind, role string, ok bool) {
	w := anywhere(o.frames, k, 0)
	if w == nil {
		return "", "", false
	}
	within, ok := w.node.extension("x-within")
	return within.get("type").text(), within.get("role").text(), ok
}

// anywhere is the first word of a kind, in frames or in what stands inside them.
func anywhere(words []*word, k spec.Kind, depth int) *word {
	for _, w := range words {
		if w.kind == k {
			return w
		}
	}
	for _, w := range words {
		for _, site := range w.parts {
			if depth < deepest {
				if inner := anywhere(site.words, k, depth+1); inner != nil {
					return inner
				}
			}
		}
	}
	return nil
}
