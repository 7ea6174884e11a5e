package vary

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec/dialect"
)

func all(t *testing.T) []*dialect.Dialect {
	t.Helper()
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// samples are frames in the form that the reference server writes.
var samples = []string{
	": keep-alive\n\n",
	"data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"runId\":\"r1\",\"threadId\":\"t\",\"delta\":\"naïve / Köln 今天 👍\",\"sequence_number\":10}\n\n",
	"data: {\"a\":[1,2,{\"b\":null}],\"type\":\"x\",\"runId\":\"r1\",\"delta\":\"\\u00e9\\n\\\"\"}\n\n",
	"data: [DONE]\n\n",
}

// withCursor is a frame of a dialect with cursors.
const withCursor = "id: 1-0\nevent: RUN_STARTED\ndata: {\"type\":\"RUN_STARTED\",\"runId\":\"r1\",\"threadId\":\"t\"}\n\n"

// traitVisible maps traits to functions that report whether the trait is visible in a stream with
// the given body and segments.
var traitVisible = map[Trait]func(body string, segments [][]byte) bool{
	ByteOrderMark: func(b string, _ [][]byte) bool { return strings.HasPrefix(b, "\ufeff") },
	CRLF: func(b string, _ [][]byte) bool {
		return strings.Count(b, "\r\n") == strings.Count(b, "\n") && has(b, "\r\n")
	},
	CR: func(b string, _ [][]byte) bool { return has(b, "\r") && !has(b, "\n") },
	MixedLineEnds: func(b string, _ [][]byte) bool {
		return has(b, "\r\n") && has(strings.ReplaceAll(b, "\r\n", ""), "\r") && has(strings.ReplaceAll(b, "\r\n", ""), "\n")
	},
	NoSpace: func(b string, _ [][]byte) bool { return has(b, "data:{") || has(b, "data:[DONE]") },
	FieldOrder: func(b string, _ [][]byte) bool {
		return items(b, func(i sse.Item) bool { return slices.Index(i.Fields, "data") < slices.Index(i.Fields, "id") })
	},
	Comments: func(b string, _ [][]byte) bool { return strings.Count(b, "\r:")+strings.Count(b, "\n:") > 1 },
	InnerComments: func(b string, _ [][]byte) bool {
		return items(b, func(i sse.Item) bool {
			return i.Kind == sse.Event && (has(string(i.Raw), "\n:") || has(string(i.Raw), "\r:"))
		})
	},
	BlankLines: func(b string, _ [][]byte) bool {
		return has(strings.NewReplacer("\r\n", "|", "\r", "|", "\n", "|").Replace(b), "|||")
	},
	MultilineData: func(b string, _ [][]byte) bool {
		return items(b, func(i sse.Item) bool { return count(i.Fields, "data") > 1 })
	},
	Retry: func(b string, _ [][]byte) bool { return items(b, func(i sse.Item) bool { return i.Retry != "" }) },
	UnknownFields: func(b string, _ [][]byte) bool {
		return items(b, func(i sse.Item) bool {
			return slices.ContainsFunc(i.Fields, func(f string) bool { return slices.Contains(unknownFieldNames, f) })
		})
	},
	EventNames: func(b string, _ [][]byte) bool {
		return items(b, func(i sse.Item) bool { return i.Event == "message" })
	},
	EventIDs: func(b string, _ [][]byte) bool {
		return items(b, func(i sse.Item) bool { return i.HasID && i.ID != "1-0" })
	},
	KeyOrder: func(b string, _ [][]byte) bool {
		return items(b, func(i sse.Item) bool { return at(i, "runId") >= 0 && at(i, "runId") < at(i, "type") })
	},
	Whitespace: func(b string, _ [][]byte) bool {
		return items(b, func(i sse.Item) bool { return has(string(i.Data), "  ") || has(string(i.Data), "\t") })
	},
	Escapes: func(b string, _ [][]byte) bool {
		return has(b, `\u00EF`) || has(b, `\u00ef`) || has(b, `\/`) || has(b, `\ud83d`)
	},
	Numbers:        func(b string, _ [][]byte) bool { return has(b, "10.0") || has(b, "10e0") || has(b, "100E-1") },
	UnknownMembers: func(b string, _ [][]byte) bool { return has(b, "9007199254740993") || has(b, "[[[[") },
	UnknownEvents:  func(b string, _ [][]byte) bool { return has(b, `x.unknown`) || has(b, "UNKNOWN_EVENT") },
	Cursors: func(b string, _ [][]byte) bool {
		return items(b, func(i sse.Item) bool { return i.ID != "1-0" && DecodeCursor(i.ID) == "1-0" })
	},
	SingleByteSegments: func(_ string, s [][]byte) bool {
		return slices.ContainsFunc(s, func(b []byte) bool { return len(b) == 1 }) && len(s) > 20
	},
	SplitCharacters: func(_ string, s [][]byte) bool {
		return slices.ContainsFunc(s, func(b []byte) bool { return b[0] >= 0x80 && b[0] < 0xc0 })
	},
	RandomSegments: func(_ string, s [][]byte) bool { return len(s) > 4 },
}

func has(s, part string) bool { return strings.Contains(s, part) }

func at(i sse.Item, name string) int { return bytes.Index(i.Data, []byte(`"`+name+`"`)) }

func count(list []string, one string) (n int) {
	for _, s := range list {
		if s == one {
			n++
		}
	}
	return n
}

func items(body string, is func(sse.Item) bool) bool {
	for item := range sse.Items([]byte(body), 0) {
		if is(item) {
			return true
		}
	}
	return false
}

// TestEverythingIsSeen checks over many seeds that every trait of a variation is visible in some of
// its streams. Traits that the variation does not have must not be visible, except those in loose.
func TestEverythingIsSeen(t *testing.T) {
	seen := map[Trait]int{}
	for _, d := range all(t) {
		for seed := range uint64(100) {
			v := New(seed, d)
			s := v.NewStream(seed)
			var body strings.Builder
			var segments [][]byte
			joined := false
			frames := samples
			if allowsAnyCursor(d) {
				frames = append([]string{withCursor}, samples...)
			}
			for range 6 {
				for _, frame := range frames {
					for _, segment := range s.EncodeFrame(nil, []byte(frame)) {
						body.Write(segment)
						segments = append(segments, bytes.Clone(segment))
					}
					joined = joined || s.CanJoin()
				}
			}
			for trait, shows := range traitVisible {
				if shows(body.String(), segments) {
					if seen[trait]++; !v.Has(trait) && !slices.Contains(loose, trait) {
						t.Fatalf("%s, seed %d: %s shows, and it has only %v:\n%.1000q", d.Name, seed, trait, v.Traits(), body.String())
					}
				}
			}
			if joined {
				seen[JoinedFrames]++
			}
		}
	}
	for _, trait := range Traits {
		if _, tested := traitVisible[trait]; (tested || trait == JoinedFrames) && seen[trait] < 10 {
			t.Errorf("%s shows %d times", trait, seen[trait])
		}
	}
	t.Log(seen)
}

// loose lists traits for which traitVisible may report true although the variation does not have
// the trait.
var loose = []Trait{KeyOrder, Comments, BlankLines, FieldOrder, Whitespace, Escapes, EventNames, EventIDs, SingleByteSegments, SplitCharacters, RandomSegments}

func BenchmarkFrame(b *testing.B) {
	d, err := dialect.Open(dialect.Names()[0])
	if err != nil {
		b.Fatal(err)
	}
	s, frame := New(3, d).NewStream(1), []byte(samples[1])
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		s.EncodeFrame(dst[:0], frame)
	}
}

func BenchmarkNew(b *testing.B) {
	d, err := dialect.Open(dialect.Names()[0])
	if err != nil {
		b.Fatal(err)
	}
	New(0, d)
	for b.Loop() {
		New(1, d)
	}
}
