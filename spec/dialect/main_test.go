package dialect

import (
	"flag"
	"github.com/streamassay/streamassay/spec"
	"os"
	"testing"
)

// TestMain fixes the seed of the property tests, so that failures are reproducible. To test other
// examples, run go test ./spec/dialect -rapid.seed=N -rapid.checks=N.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.seed"); f != nil && f.Value.String() == "0" {
		if err := f.Value.Set("20261121"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// TestNumbersInSlots checks that the slot text is encoded as a string even if it looks like a
// number, and that a number followed by a space is encoded as a string too.
func TestNumbersInSlots(t *testing.T) {
	either := []string{"string", "integer", "null"}
	for _, c := range []struct{ slot, text, want string }{
		{"seq", "7", `7`}, {"seq", "7 ", `"7 "`}, {"seq", "x", `"x"`}, {"text", "7", `"7"`}, {"text", "0 ", `"0 "`},
	} {
		m := memberEncoding{slot: c.slot, types: either}
		if got := string(m.appendText(nil, c.text)); got != c.want {
			t.Errorf("%s %q is written as %s, want %s", c.slot, c.text, got, c.want)
		}
	}
}

// encode returns the encoding of e as a decoded JSON object. It panics if the encoding is not JSON.
func (w *variant) encode(e spec.Event) map[string]any {
	data, _ := w.encoding.appendJSON(nil, &e)
	v, err := decode(data)
	if err != nil {
		panic(err)
	}
	return v.(map[string]any)
}
