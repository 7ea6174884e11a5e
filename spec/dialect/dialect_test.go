package dialect

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamassay/streamassay/spec"
)

// each runs a test for every embedded dialect.
func each(t *testing.T, f func(t *testing.T, d *Dialect)) {
	t.Helper()
	if len(Names()) == 0 {
		t.Fatal("no dialects are embedded")
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			d, err := Open(name)
			if err != nil {
				t.Fatal(err)
			}
			f(t, d)
		})
	}
}

// TestPhrases checks that the request of every template is valid, and that it is parsed into the
// event from which it was built.
func TestPhrases(t *testing.T) {
	each(t, func(t *testing.T, d *Dialect) {
		for _, phrase := range d.Templates() {
			r, err := d.BuildRequest(phrase, sampleSlots)
			if err != nil {
				t.Errorf("%s: %v", phrase, err)
				continue
			}
			o, _ := d.TemplateOperation(phrase)
			if heard := d.Operation(r); heard != o {
				t.Errorf("%s: %s %s is heard as another operation", phrase, r.Method, r.Target)
			}
			for _, b := range d.ValidateRequest(r) {
				t.Errorf("%s: %v in %s", phrase, b, r.Body)
			}
			e := d.ParseRequest(r)
			if phrase == "prompt" && (e.Text != sampleSlots.Text || e.Thread != sampleSlots.Thread) {
				t.Errorf("prompt: heard %q in thread %q", e.Text, e.Thread)
			}
			if part, ok := e.Last(spec.InputToolResult); phrase == "tool-result" && (!ok || part.Call != sampleSlots.Call || part.Text != sampleSlots.Text) {
				t.Errorf("tool-result: heard call %q, result %q", part.Call, part.Text)
			}
			if part, ok := e.Last(spec.InputTool); phrase == "tool-offer" && (!ok || part.Name != sampleSlots.Name) {
				t.Errorf("tool-offer: heard tool %q", part.Name)
			}
			if part, ok := e.Last(spec.InputResume); phrase == "resume" && (!ok || part.ID != "" && part.ID != sampleSlots.ID || !strings.Contains(part.Text, sampleSlots.Text)) {
				t.Errorf("resume: heard interrupt %q, payload %q", part.ID, part.Text)
			}
		}
	})
}

// TestConstantsTellWordsApart checks that a frame whose discriminator is changed matches another
// variant or none, but never the same.
func TestConstantsTellWordsApart(t *testing.T) {
	each(t, func(t *testing.T, d *Dialect) {
		for _, o := range d.operations {
			for _, w := range o.frameVariants {
				for _, m := range w.discriminators {
					v := w.encode(spec.Event{})
					setAt(v, m.path, "something else")
					if got := matchVariant(o.frameVariants, v); got == w {
						t.Errorf("%s: %s with another %s is still %s", o.Name, lastToken(w.node.deref().pointer), jsonPointer(m.path), w.kind)
					}
				}
			}
		}
	})
}

func setAt(v map[string]any, path []string, to any) {
	for _, key := range path[:len(path)-1] {
		inner, ok := v[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			v[key] = inner
		}
		v = inner
	}
	v[path[len(path)-1]] = to
}

// TestFramesRoundTrip checks that encoded frames are decoded to the same events: for every kind of
// every stream, with any values that the slots can have.
func TestFramesRoundTrip(t *testing.T) {
	each(t, func(t *testing.T, d *Dialect) {
		kinds := 0
		for _, o := range d.operations {
			for _, w := range o.frameVariants {
				if w.kind == "" || w.kind == spec.Unrecognized {
					continue
				}
				kinds++
				t.Run(lastToken(w.node.deref().pointer), rapid.MakeCheck(func(t *rapid.T) { roundTrip(t, d, o, w) }))
			}
		}
		if kinds < 5 {
			t.Errorf("only %d words", kinds)
		}
	})
}

func roundTrip(t *rapid.T, d *Dialect, o *Operation, w *variant) {
	said := spec.Event{Kind: w.kind}
	fillSlots(t, w, &said)
	written := variantFor(o.frameVariants, said.Kind, &said)
	if written != w { // another variant of the kind is encoded
		said = spec.Event{Kind: w.kind}
		written = variantFor(o.frameVariants, said.Kind, &said)
		fillSlots(t, written, &said)
	}
	// A message of type heartbeat is not a message, one of type call is not a result: values
	// that contradict each other or the variant are not encoded.
	value := any(written.encode(said))
	if meant := matchVariant(o.frameVariants, value); meant.kind != w.kind || written.validate(value) != nil {
		t.Skip("these values contradict each other")
	}
	frame, err := o.AppendEvent(nil, &said)
	if err != nil {
		t.Fatal(err)
	}
	x := spec.Exchange{Response: spec.Response{Status: 200, Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}}, Body: frame}}
	x.Request, _ = d.BuildRequest(o.Templates()[0], sampleSlots)
	var heard []spec.Event
	for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
		if e.IsFrame() {
			heard = append(heard, e)
		}
	}
	for len(heard) > 1 && heard[0].Kind != said.Kind { // what the frame carries comes first
		heard = heard[1:]
	}
	if len(heard) != 1 || heard[0].Kind != said.Kind || heard[0].Err != nil || len(heard[0].Violations) > 0 {
		t.Fatalf("wrote %s as %s, read %v", said.Kind, frame, heard)
	}
	for _, site := range written.slots {
		if strings.Contains(strings.Join(site.path, "/"), "*") {
			continue
		}
		want, got := *slotField(&said, site.slot), *slotField(&heard[0], site.slot)
		if want != "" && want != got && !(site.slot == "text" && sameText(want, got)) {
			t.Fatalf("wrote %s %q in %s, read %q", site.slot, want, frame, got)
		}
	}
}

func sameText(a, b string) bool {
	x, err := decode([]byte(a))
	y, err2 := decode([]byte(b))
	return err == nil && err2 == nil && compactJSON(x) == compactJSON(y)
}

// fillSlots sets each slot of e that the variant w carries to a random value that matches the
// schemas of the slot's member. It adds to e a part of each kind that w may have as a part, unless
// parts of that kind have parts themselves.
func fillSlots(t *rapid.T, w *variant, e *spec.Event) {
	for _, site := range w.slots {
		if m := fieldAt(w.encoding, site.path); m != nil {
			*slotField(e, site.slot) = drawValue(t, site.slot, m)
		}
	}
	for _, site := range w.parts {
		for _, word := range site.variants {
			if word.kind != "" && len(word.parts) == 0 {
				part := spec.Event{Kind: word.kind}
				fillSlots(t, word, &part)
				e.Parts = append(e.Parts, part)
			}
		}
	}
}

// fieldAt returns the member at a path of the object f, or nil if there is none.
func fieldAt(f *objectEncoding, path []string) *memberEncoding {
	for _, m := range f.fields {
		switch {
		case m.name != path[0]:
		case len(path) == 1:
			return m
		case m.object != nil:
			return fieldAt(m.object, path[1:])
		}
	}
	return nil
}

// enumOf returns the shortest enumeration of values in the schemas of a member. It returns nil if
// there is none.
func enumOf(m *memberEncoding) (shortest []string) {
	for _, s := range m.schemas {
		if enum := s.get("enum").strings(); len(enum) > 0 && (shortest == nil || len(enum) < len(shortest)) {
			shortest = enum
		}
	}
	return shortest
}

func drawValue(t *rapid.T, slot string, m *memberEncoding) string {
	has := func(name string) bool { return slices.Contains(m.types, name) }
	switch enum := enumOf(m); {
	case len(enum) > 0:
		return rapid.SampledFrom(enum).Draw(t, slot)
	case has("string") && m.firstKeyword("format").text() == "date-time":
		return "2026-03-15T10:00:00Z"
	case has("string") && m.firstKeyword("pattern").exists():
		return "1"
	case has("string") && slot == "text":
		return rapid.String().Draw(t, slot)
	case has("string"):
		return rapid.StringN(1, 20, 80).Draw(t, slot)
	case has("integer"), has("number"):
		low, _ := intValue(m.firstKeyword("minimum"))
		high, ok := intValue(m.firstKeyword("maximum"))
		if !ok {
			high = low + 1<<40
		}
		return compactJSON(rapid.IntRange(low, high).Draw(t, slot))
	case has("boolean"):
		return rapid.SampledFrom([]string{"true", "false"}).Draw(t, slot)
	case len(m.types) == 0 && slot != "text":
		return "x"
	case len(m.types) == 0 || has("object"):
		return rapid.SampledFrom([]string{`{}`, `{"a":[1,"x",null]}`}).Draw(t, slot)
	}
	return ""
}
