package dialect

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// ErrNoWord says that a dialect has nothing to say a kind with.
var ErrNoWord = errors.New("the dialect has no word for it")

// Has says whether a stream of o can say e.
func (o *Operation) Has(e spec.Event) bool {
	return e.Kind == spec.Done && o.sentinel != "" || o.wordFor(e) != nil
}

func (o *Operation) wordFor(e spec.Event) *word { return wordFor(o.frames, e) }

// wordFor is the first word of e's kind whose marks e's slots do not contradict.
// What a dialect has no own words for is spelled like a message's.
func wordFor(words []*word, e spec.Event) *word {
	i := slices.IndexFunc(words, func(w *word) bool { return w.kind == e.Kind && w.says(e) })
	if i >= 0 {
		return words[i]
	}
	if e.Kind == spec.ReasoningDelta {
		e.Kind = spec.MessageDelta
		return wordFor(words, e)
	}
	return nil
}

// says is whether the word's constants agree with what e's slots ask for.
func (w *word) says(e spec.Event) bool {
	for _, m := range w.marks {
		for _, site := range w.slots {
			if slices.Equal(site.path, m.path) {
				if want := *slotOf(&e, site.slot); want != "" && want != carry(m.value) {
					return false
				}
			}
		}
	}
	return true
}

// Append spells e as a frame of the stream that o answers with, at the end of dst.
// It is ErrNoWord if the dialect cannot say it.
func (o *Operation) Append(dst []byte, e spec.Event) ([]byte, error) {
	switch {
	case e.Kind == spec.Comment:
		return sse.AppendComment(dst, e.Text), nil
	case e.Kind == spec.Done && o.sentinel != "":
		return sse.Append(dst, sse.Frame{Data: []byte(o.sentinel)})
	}
	w := o.wordFor(e)
	if w == nil {
		return dst, fmt.Errorf("%s: %w", e.Kind, ErrNoWord)
	}
	fields := w.spell(e)
	f := sse.Frame{Data: []byte(compact(fields))}
	if o.tells.event != "" {
		f.Event = carry(at(fields, []string{o.tells.event}))
	}
	if o.tells.id {
		f.ID, f.HasID = e.Cursor, e.Cursor != ""
	}
	return sse.Append(dst, f)
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
	if e.HTTP == 0 {
		e.HTTP = o.status
	}
	r, ok := o.reply(e.HTTP)
	if !ok || len(r.words) == 0 {
		return Answer{Status: e.HTTP}
	}
	if e.Text == "" && !isJSON(r.media) {
		e.Text = r.example
	}
	if !isJSON(r.media) {
		return Answer{e.HTTP, r.media, []byte(e.Text)}
	}
	w := wordFor(r.words, e)
	if w == nil {
		w = r.words[0]
	}
	return Answer{e.HTTP, r.media, []byte(compact(w.value(e)))}
}

// Write writes e as a frame, see [Operation.Append].
func (o *Operation) Write(w io.Writer, e spec.Event) error {
	data, err := o.Append(nil, e)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// spell makes the object of a word that says e.
func (w *word) spell(e spec.Event) map[string]any {
	fields, _ := w.form.spell(&e)
	return fields
}

// value is spell for words that may be no object.
func (w *word) value(e spec.Event) any {
	if slices.Contains(w.node.get("type").strings(), "string") {
		return cmp.Or(e.Text, w.node.get("x-write").text())
	}
	return w.spell(e)
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
