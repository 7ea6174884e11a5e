package sse_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/sse"
)

// shortStream is the maximum length, in bytes, of the streams that are cut in two places at once.
const shortStream = 40

// TestStandard decodes every stream of the corpus with every line end, with and without a byte
// order mark, cut in every place. It checks that the items are always those of the corpus.
func TestStandard(t *testing.T) {
	if n := len(corpus()); n < 40 {
		t.Fatalf("the corpus has only %d streams", n)
	}
	cases, forms, names := 0, 0, map[string]bool{}
	for _, s := range corpus() {
		if names[s.name] {
			t.Errorf("two streams are called %q", s.name)
		}
		names[s.name] = true
		for _, r := range s.renderings() {
			forms++
			cases += r.check(t)
		}
		if t.Failed() {
			t.Fatal("the streams after this one were not read")
		}
	}
	t.Logf("%d streams, %d forms, %d cases", len(corpus()), forms, cases)
	if cases < 100_000 {
		t.Errorf("only %d cases", cases)
	}
}

// check decodes the rendering with all cuts and checks the items. It returns the number of cuts
// that it tried. After the first failure it tries no further ones.
func (r rendering) check(t testing.TB) (cases int) {
	before := bytes.Clone(r.body)
	try := func(pieces ...[]byte) bool {
		cases++
		items, err := decode(0, pieces...)
		if err == nil && slices.EqualFunc(items, r.items, same) {
			return true
		}
		t.Errorf("%s, cut into %.2000q\n got %s, %v\nwant %s", r.name, pieces, show(items), err, show(r.items))
		return false
	}
	good := try(r.body) && try(bytewise(r.body)...)
	for i := 0; good && i <= len(r.body); i++ {
		good = try(r.body[:i], r.body[i:])
		for j := i; good && len(r.body) <= shortStream && j <= len(r.body); j++ {
			good = try(r.body[:i], r.body[i:j], r.body[j:])
		}
	}
	if !bytes.Equal(r.body, before) {
		t.Errorf("%s: Feed wrote to its input", r.name)
	}
	return cases
}

// show returns items as readable text.
func show(items []sse.Item) string {
	var b strings.Builder
	for _, item := range items {
		fmt.Fprintf(&b, "\n\t%.1000q", fmt.Sprintf("%+v", item))
	}
	return b.String()
}

// TestPromptness checks that an item is yielded as soon as the byte that completes it was fed, so
// that the times of events can be measured.
func TestPromptness(t *testing.T) {
	for _, s := range corpus() {
		for _, r := range s.renderings() {
			d, next := sse.NewDecoder(0), 0
			for i := range r.body {
				for item := range d.Feed(r.body[i : i+1]) {
					if item.End != i+1 {
						t.Errorf("%s: an item that ends at %d was told after %d bytes", r.name, item.End, i+1)
					}
					next++
				}
				if next < len(r.items) && !r.items[next].Incomplete && r.items[next].End <= i+1 {
					t.Fatalf("%s: after %d bytes the item that ends at %d was not told", r.name, i+1, r.items[next].End)
				}
			}
		}
	}
}
