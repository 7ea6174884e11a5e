package pace_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/streamassay/streamassay/internal/pace"
)

const ms = time.Millisecond

func TestUnmarshal(t *testing.T) {
	for text, want := range map[string]pace.Pace{
		"{first: 300ms, rate: 40, jitter: {lognormal: 0.3}}":  {First: 300 * ms, Rate: 40, Jitter: pace.Jitter{Lognormal: 0.3}},
		"{jitter: {uniform: 1}, burst: 5, chunk: words}":      {Jitter: pace.Jitter{Uniform: 1}, Burst: 5, Chunk: pace.Words},
		"{jitter: {fixed: 2ms}, chunk: characters, speed: 2}": {Jitter: pace.Jitter{Fixed: 2 * ms}, Chunk: pace.Characters, Speed: 2},
		"{chunk: 7, rate: 0.5}":                               {Chunk: 7, Rate: 0.5},
		"{chunk: whole, first: 0, rate: 0}":                   {Chunk: pace.WholeText},
		"{}":                                                  {},
	} {
		var got pace.Pace
		if err := yaml.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		// Merge, because the unexported set of fields differs.
		if merged := (pace.Pace{}).Merge(want); got.First != merged.First || got.Rate != merged.Rate || got.Jitter != merged.Jitter ||
			got.Burst != merged.Burst || got.Chunk != merged.Chunk || got.Speed != merged.Speed {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	for text, part := range map[string]string{
		"{frist: 1s}":              "unknown field frist of a pace (want burst, chunk, first,",
		"{first: 300}":             "first: got 300, want a duration (e.g. 300ms",
		"{first: -1s}":             "first: -1s is out of range (want 0s to 24h0m0s)",
		"{first: 25h}":             "want 0s to 24h0m0s",
		"{rate: -1}":               "rate: -1 is out of range (want 0 or 0.001 to 1000000",
		"{rate: 10000000}":         "rate: 1e+07",
		"{rate: .nan}":             "rate: got NaN, want a number",
		"{rate: fast}":             `rate: got "fast", want a number`,
		"{jitter: 0.3}":            "jitter: got 0.3, want an object with one of fixed, lognormal, uniform",
		"{jitter: {normal: 1}}":    "jitter: unknown field normal",
		"{jitter: {uniform: 1.5}}": "jitter.uniform: 1.5 is out of range",
		"{jitter: {uniform: 0.5, lognormal: 0.5}}": "jitter: got 2 kinds",
		"{jitter: {lognormal: 4}}":                 "jitter.lognormal: 4 is out of range (want 0 to 3)",
		"{jitter: {fixed: 30h}}":                   "jitter.fixed",
		"{burst: 1.5}":                             "burst: got 1.5, want an integer",
		"{burst: -1}":                              "burst: -1 is out of range",
		"{chunk: lines}":                           `chunk: got "lines", want words, characters, whole`,
		"{chunk: 0}":                               "chunk: got 0, want words",
		"{chunk: -1}":                              "chunk: got -1, want words",
		"{speed: 0}":                               "speed: invalid speed 0 (1: as recorded",
		"{speed: -2}":                              "speed: -2 is out of range",
		"[]":                                       "invalid pace: got a list, want an object such as {first: 300ms, rate: 40}, with any of burst, chunk",
		"fast":                                     `invalid pace: got "fast"`,
	} {
		p := pace.Pace{Burst: 77}
		if err := yaml.Unmarshal([]byte(text), &p); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: got %v, want %q in it", text, err, part)
		}
		if p != (pace.Pace{Burst: 77}) {
			t.Errorf("%s: was refused, but p is %+v", text, p)
		}
	}
}

func TestMerge(t *testing.T) {
	read := func(text string) (p pace.Pace) {
		if err := yaml.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	defaults := read("{first: 300ms, rate: 40, jitter: {lognormal: 0.3}, chunk: 3, speed: 4, burst: 2}")
	got := defaults.Merge(read("{first: 0s, jitter: {}, chunk: words}"))
	if got.First != 0 || got.Rate != 40 || got.Jitter != (pace.Jitter{}) || got.Chunk != pace.Words || got.Speed != 4 || got.Burst != 2 {
		t.Errorf("got %+v", got)
	}
	if got := defaults.Merge(pace.Pace{Rate: 1}); got.First != 300*ms || got.Rate != 1 {
		t.Errorf("got %+v, but zero fields of a literal are unset", got)
	}
	if got := (pace.Pace{First: 1}).Merge(pace.Pace{}.Merge(read("{first: 0}"))); got.First != 0 {
		t.Errorf("a field set to zero was ignored: %+v", got)
	}
}

func TestCutExamples(t *testing.T) {
	for _, tt := range []struct {
		text  string
		chunk pace.ChunkSize
		want  string
	}{
		{"It is 21 degrees.", pace.Words, "It| is| 21| degrees."},
		{"  It\n is  ", 0, "  It|\n is  "},
		{"   ", pace.Words, "   "},
		{"今天 ok吗", pace.Words, "今|天| ok|吗"},
		{"naïve", pace.Characters, "n|a|ï|v|e"},
		{"naïve", 2, "na|ïv|e"},
		{"one two", pace.WholeText, "one two"},
		{"", pace.Words, ""},
		{"\xff\xfe", pace.Characters, "\xff|\xfe"},
	} {
		if got := strings.Join(pace.Split(tt.text, tt.chunk), "|"); got != tt.want {
			t.Errorf("%q by %v: got %q, want %q", tt.text, tt.chunk, got, tt.want)
		}
	}
}

func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune(" \n\té今ไ👍")))).Draw(t, "text")
		chunk := rapid.SampledFrom([]pace.ChunkSize{0, pace.Words, pace.WholeText, pace.Characters, 2, 7, 1000}).Draw(t, "chunk")
		pieces := pace.Split(text, chunk)
		if got := strings.Join(pieces, ""); got != text {
			t.Fatalf("got %q", got)
		}
		for i, piece := range pieces {
			switch n := utf8.RuneCountInString(piece); {
			case piece == "" || !utf8.ValidString(piece):
				t.Fatalf("%q is empty or invalid UTF-8", piece)
			case chunk > 0 && (n > int(chunk) || n < int(chunk) && i < len(pieces)-1):
				t.Fatalf("%q has %d characters", piece, n)
			case chunk == pace.WholeText && len(pieces) != 1:
				t.Fatal("not whole")
			case chunk < 0 && chunk != pace.WholeText && len(pieces) > 1 && strings.TrimSpace(piece) == "":
				t.Fatalf("%q is a piece without a word", piece)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add("{first: 1s, rate: 3, jitter: {uniform: 0.1}, burst: 3, chunk: 4}")
	f.Fuzz(func(t *testing.T, text string) {
		var p pace.Pace
		if yaml.Unmarshal([]byte(text), &p) == nil {
			if err := p.Check(); err != nil {
				t.Fatalf("a parsed pace is invalid: %v", err)
			}
			c := p.NewClock(rand.New(rand.NewPCG(1, 1)))
			for last, i := time.Duration(0), 0; i < 10; i++ {
				if at := c.NextToken(); at < last {
					t.Fatalf("%v after %v", at, last)
				} else {
					last = at
				}
			}
		}
	})
}
