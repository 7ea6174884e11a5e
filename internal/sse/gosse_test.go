package sse_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	gosse "github.com/tmaxmax/go-sse"

	"github.com/streamassay/streamassay/internal/sse"
)

// A departure describes what go-sse 0.11.0 dispatches for a stream of the corpus for which it does
// not dispatch what the standard requires.
type departure struct {
	told  []string // what it dispatches: event, data and last event ID, or an error
	bom   marking  // in which forms
	cause string
}

// The reasons for departures.
const (
	withoutData = "the standard drops a block whose data buffer is empty; go-sse tells any block with an event or id field"
	atTheEnd    = "the standard drops an event that no blank line ends; go-sse tells it if its last line has an end"
	inALine     = "the standard drops what stands in a last line without end; go-sse makes an error of it, also of a comment"
	lateMark    = "the standard takes a byte order mark off only at the very start; go-sse skips blank lines before it looks for one"
)

// departures holds all departures by the name of the stream. On all other streams of the corpus,
// go-sse agrees with the standard.
var departures = map[string]departure{
	"an event name without data goes with its block": {
		told: []string{`"a" "" ""`, `"" "y" ""`}, cause: withoutData},
	"an id counts without data": {
		told: []string{`"" "" "7"`, `"" "a" "7"`}, cause: withoutData},
	"a comment in a block without data": {
		told: []string{`"e" "" ""`, `"" "x" ""`}, cause: withoutData},
	"the example of the standard with four blocks": {
		told:  []string{`"" "first event" "1"`, `"" "second event" ""`, `"" " third event" ""`},
		cause: atTheEnd},
	"the example of the standard with empty data": {
		told: []string{`"" "" ""`, `"" "\n" ""`, `"" "" ""`}, cause: atTheEnd},
	"the end before the blank line": {
		told: []string{`"" "a" ""`}, cause: atTheEnd},
	"the id of an incomplete event does not count": {
		told: []string{`"" "a" "1"`, `"" "b" "2"`}, cause: atTheEnd},
	"the end before data comes": {
		told: []string{`"e" "" "1"`}, cause: atTheEnd + "; and " + withoutData},
	"the end after a comment inside a block": {
		told: []string{`"" "a" ""`}, cause: atTheEnd},
	"the end before the line end": {
		told: []string{unexpected}, cause: inALine},
	"the end in a second line": {
		told: []string{unexpected}, cause: inALine},
	"the end in a second data line": {
		told: []string{unexpected}, cause: inALine},
	"the end in a name": {
		told: []string{`"" "a" ""`, unexpected}, cause: inALine},
	"the end in a name that would be all": {
		told: []string{`"" "a" ""`, unexpected}, cause: inALine},
	"the end in a comment": {
		told: []string{`"" "a" ""`, unexpected}, cause: inALine},
	"the end in a character is not the fault of who wrote it": {
		told: []string{unexpected}, cause: inALine},
	"the end after bytes that no character begins with": {
		told: []string{unexpected}, cause: inALine},
	"the end after invalid UTF-8 in a line before": {
		told: []string{unexpected}, cause: inALine},
	"the end in a comment with invalid UTF-8": {
		told: []string{unexpected}, cause: inALine},
	"the end in a comment inside a block": {
		told: []string{unexpected}, cause: inALine},
	"a BOM after a blank line belongs to the name": {
		told: []string{`"" "a" ""`}, bom: onlyWithout, cause: lateMark},
}

const unexpected = "go-sse: unexpected end of input"

// TestAgainstGoSSE decodes the corpus with an independent decoder, to validate the corpus, and
// checks where the two differ and why.
func TestAgainstGoSSE(t *testing.T) {
	forms, different, met := 0, 0, map[string]bool{}
	for _, s := range corpus() {
		d, listed := departures[s.name]
		for _, r := range s.renderings() {
			marked := bytes.HasPrefix(r.body, []byte(mark))
			departs := listed && (d.bom == withAndWithout || (d.bom == onlyWith) == marked)
			standard := dispatched(r.items)
			want := standard
			if departs {
				want, met[s.name] = d.told, true
				different++
				if slices.Equal(d.told, standard) {
					t.Errorf("%s: what is listed is what the standard says", r.name)
				}
			}
			for _, reader := range []io.Reader{bytes.NewReader(r.body), iotest.OneByteReader(bytes.NewReader(r.body))} {
				forms++
				if told := readGoSSE(reader); !slices.Equal(told, want) {
					t.Errorf("%s (departs: %t)\n    %q\ntold %q\nwant %q", r.name, departs, r.body, told, want)
				}
			}
		}
	}
	for name, d := range departures {
		if !met[name] || d.cause == "" {
			t.Errorf("%q is listed, but no such stream departs, or no cause is given", name)
		}
	}
	t.Logf("%d streams read %d times, %d of %d streams depart (in %d forms)", len(corpus()), forms, len(departures), len(corpus()), different)
}

// TestGoSSELimit shows that go-sse limits events to 64 KiB. The standard has no such limit, and an
// event with a file may be larger.
func TestGoSSELimit(t *testing.T) {
	body := "data: " + strings.Repeat("x", 64<<10) + "\n\n"
	told := readGoSSE(strings.NewReader(body))
	if want := []string{"bufio.Scanner: token too long"}; !slices.Equal(told, want) {
		t.Errorf("go-sse told %.100q, want %q", told, want)
	}
	items, err := decode(0, []byte(body))
	if len(items) != 1 || err != nil || len(items[0].Data) != 64<<10 {
		t.Errorf("%d items, %v", len(items), err)
	}
}

// dispatched returns those of the items that a client would see, which are the complete events: the
// event name, data and last event ID of each, as text.
func dispatched(items []sse.Item) []string {
	var told []string
	for _, item := range items {
		if item.Kind == sse.Event && !item.Incomplete {
			told = append(told, fmt.Sprintf("%q %q %q", item.Event, item.Data, item.LastEventID))
		}
	}
	return told
}

func readGoSSE(r io.Reader) []string {
	var told []string
	for e, err := range gosse.Read(r, nil) {
		if err != nil {
			told = append(told, err.Error())
			break
		}
		told = append(told, fmt.Sprintf("%q %q %q", e.Type, e.Data, e.LastEventID))
	}
	return told
}
