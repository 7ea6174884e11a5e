package vary

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec/dialect"
)

// every returns a variation that has all traits, including those that exclude each other.
func every(seed uint64) *Variation {
	open := &dialect.ValueShape{Members: map[string]*dialect.ValueShape{"n": {Number: true}}}
	open.Members["in"], open.Members["list"] = open, &dialect.ValueShape{Items: open}
	open.Members["payload"] = &dialect.ValueShape{HasSlot: true, Members: open.Members}
	b := &variationConstraints{frameShape: open, replyShape: open, unknownEvent: dialect.UnknownEventForm{TypeMember: "type"}}
	return &Variation{seed: seed, profile: b, traits: Traits, cursorEncoding: cursorEncodings[2], lineEnds: []string{"\n", "\r", "\r\n"}}
}

// value draws a JSON value. The names of object members are partly those in the shape of the
// function every and partly unknown. At a depth of more than 3, value draws neither arrays nor
// objects.
func value(t *rapid.T, depth int) any {
	kinds := 6
	if depth > 3 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\"\\/\n\u2028\x00é👍")))).Draw(t, "text")
	case 1:
		return json.Number(rapid.SampledFrom([]string{"0", "7", "10", "-3", "1.50", "1e400", "12345678901234567890"}).Draw(t, "number"))
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return nil
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, value(t, depth+1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		name := rapid.SampledFrom([]string{"n", "in", "list", "payload", "", "a\"b", "é"}).Draw(t, "name")
		object[name] = value(t, depth+1)
	}
	return object
}

func decode(t *rapid.T, text []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// within reports whether the decoded JSON values a and b are equal except for additional members in
// b. Numbers are compared by value.
func within(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		for name, v := range a {
			other, there := b[name]
			ok = ok && there && within(v, other)
		}
		return ok
	case []any:
		b, ok := b.([]any)
		ok = ok && len(a) == len(b)
		for i := range a {
			ok = ok && within(a[i], b[i])
		}
		return ok
	case json.Number:
		b, ok := b.(json.Number)
		x, err := a.Float64()
		y, err2 := b.Float64()
		return ok && (a == b || err == nil && err2 == nil && x == y)
	}
	return reflect.DeepEqual(a, b)
}

// member returns the member of v, a decoded JSON object, with the given name, or nil.
func member(v any, name string) any {
	object, _ := v.(map[string]any)
	return object[name]
}

// TestFramesSayTheSame checks that varied frames decode to the original events, apart from
// additional members, and that values of slots are not modified.
func TestFramesSayTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := every(rapid.Uint64().Draw(t, "seed"))
		s := v.NewStream(rapid.Uint64().Draw(t, "stream"))
		var body []byte
		var want []any
		for range rapid.IntRange(1, 5).Draw(t, "frames") {
			object := map[string]any{"in": value(t, 0), "payload": value(t, 0)}
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, decode(t, text))
			frame, _ := sse.Append(nil, sse.Frame{ID: rapid.SampledFrom([]string{"", "1-0"}).Draw(t, "id"), Data: text})
			for _, segment := range s.EncodeFrame(nil, frame) {
				if len(segment) == 0 {
					t.Fatal("an empty segment")
				}
				body = append(body, segment...)
			}
		}
		var got []any
		for item, err := range sse.Items(body, 0) {
			switch {
			case err != nil || item.Incomplete || item.InvalidUTF8:
				t.Fatalf("%+v %v in %q", item, err, body)
			case item.Kind != sse.Event:
			default:
				if v := decode(t, item.Data); member(v, "type") == nil { // else one that is not ours
					got = append(got, v)
				}
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d events, want %d: %q", len(got), len(want), body)
		}
		for i := range want {
			if !within(want[i], got[i]) || !reflect.DeepEqual(member(want[i], "payload"), member(got[i], "payload")) {
				t.Fatalf("got %v\nwant %v\nin %q", got[i], want[i], body)
			}
		}
	})
}

// TestReplies checks that varied replies have the same meaning, and that texts other than
// JSON are returned unchanged.
func TestReplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, seed := every(rapid.Uint64().Draw(t, "seed")), rapid.Uint64().Draw(t, "reply")
		text, _ := json.Marshal(value(t, 0))
		got := v.EncodeReply(seed, text)
		if !within(decode(t, text), decode(t, got)) || !utf8.Valid(got) {
			t.Fatalf("%q became %q", text, got)
		}
		if again := v.EncodeReply(seed, text); !bytes.Equal(got, again) {
			t.Fatalf("%q became %q, and then %q", text, got, again)
		}
	})
	v := every(1)
	for _, text := range []string{"", "no JSON", `{"a":1`, "{} {}"} {
		if got := v.EncodeReply(1, []byte(text)); string(got) != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestLeftAlone checks that a frame that does not have the form of the reference's frames stays
// unchanged.
func TestLeftAlone(t *testing.T) {
	for _, frame := range []string{
		"data: {}\n", "data: {}", "data {}\n\n", "data: {}\r\n\r\n", "id: 1\n\n", "data: {}\ndata: {}\n\n", "retry: 1\ndata: {}\n\n", "\n", "", "data: \x00\n\n", "garbage",
	} {
		for seed := range uint64(20) {
			v := every(seed)
			v.traits = append([]Trait{}, Traits[1:]...) // no byte order mark
			if got := string(bytes.Join(v.NewStream(seed).EncodeFrame(nil, []byte(frame)), nil)); got != frame {
				t.Errorf("%q became %q", frame, got)
			}
		}
	}
}

// TestReplayedFrames checks that frames have the same encoding in two streams with different seeds.
func TestReplayedFrames(t *testing.T) {
	for seed := range uint64(50) {
		v := every(seed)
		raw := func(stream uint64) (all []string) {
			s := v.NewStream(stream)
			var body []byte
			for _, frame := range append(samples, withCursor) {
				body = append(body, bytes.Join(s.EncodeFrame(nil, []byte(frame)), nil)...)
			}
			for item := range sse.Items(body, 0) {
				if item.Kind == sse.Event && !strings.Contains(string(item.Data), "x.") {
					all = append(all, string(item.Raw))
				}
			}
			return all
		}
		first, again := raw(1), raw(2)
		known := map[string]bool{}
		for _, one := range first {
			known[one] = true
		}
		same := 0
		for _, one := range again {
			if known[one] {
				same++
			}
		}
		if same < 4 {
			t.Errorf("seed %d: only %d frames of %d are told with the same bytes:\n%q\n%q", seed, same, len(again), first, again)
		}
		if !reflect.DeepEqual(first, raw(1)) {
			t.Errorf("seed %d: the same stream was told otherwise", seed)
		}
	}
}
