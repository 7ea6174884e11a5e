package fault

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/near"
)

// A Use is a fault with what it was told: where it strikes, and how. [FromYAML] and
// [Parse] make checked ones. A literal names its place: the zero [Place] is one.
type Use struct {
	Fault *Fault
	At    Place

	set map[string]value // what was said; what was not has its default
}

// A value is what a parameter is set to: one of the three, by its type.
type value struct {
	text string // as it was said, and for the type "text" what it is
	n    int
	span time.Duration
}

// Nowhere is the place that is not set.
func Nowhere() Place { return Place{Event: -1, Byte: -1, Time: -1} }

// Set says whether it is a place at all.
func (p Place) Set() bool { return p.Event >= 0 || p.Byte >= 0 || p.Time >= 0 }

// String is the place as [Parse] reads it: "event=3".
func (p Place) String() string {
	switch {
	case p.Event >= 0:
		return fmt.Sprintf("event=%d", p.Event)
	case p.Byte >= 0:
		return fmt.Sprintf("byte=%d", p.Byte)
	case p.Time >= 0:
		return fmt.Sprintf("time=%v", p.Time)
	}
	return ""
}

// everywhere is what every fault can be told, besides its place.
var everywhere = []Param{
	{Name: "chance", Doc: "of a hundred requests that many suffer it, by the seed", Type: "int", Default: "100", Min: "1", Max: "100"},
	{Name: "streams", Doc: "how many streams of a run suffer it, the first ones; 0 is all. A fault on the wire strikes the first alone if nothing is said", Type: "int", Min: "0", Max: "1000000"},
}

// places are the ways to say where, with their bounds.
var places = map[string]Param{
	"event": {Name: "event", Doc: "before the event of this number, from 0", Type: "int", Min: "0", Max: "1000000"},
	"byte":  {Name: "byte", Doc: "after so many bytes of the body", Type: "int", Min: "0", Max: "1000000000"},
	"time":  {Name: "time", Doc: "so long after the stream began", Type: "duration", Min: "0s", Max: "1h"},
}

// Named is the fault of a name, with a suggestion where there is none.
func Named(name string) (*Fault, error) {
	for _, f := range All {
		if f.Name == name {
			return f, nil
		}
	}
	var names []string
	for _, f := range All {
		names = append(names, f.Name)
	}
	return nil, fmt.Errorf("there is no fault %q%s", name, near.Suggest(name, names))
}

// Settable is all that can be set: the parameters of a fault, the ways to say where, and
// what every fault can be told.
func (f *Fault) Settable() []Param {
	all := slices.Clone(f.Params)
	for _, name := range f.Places {
		all = append(all, places[name])
	}
	return append(all, everywhere...)
}

// FromYAML is a use as scripts say it: the name of a fault, and what is set, as a
// decoder of YAML or JSON gives it.
func FromYAML(name string, args map[string]any) (Use, error) {
	said := map[string]string{}
	for key, v := range args {
		text, err := plain(v)
		if err != nil {
			return Use{}, fmt.Errorf("fault %s: %s: %w", name, key, err)
		}
		said[key] = text
	}
	return use(name, said)
}

// plain is a value of a document as text.
func plain(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case time.Duration:
		return v.String(), nil
	case int, int64, uint64, bool:
		return fmt.Sprint(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case []any:
		var all []string
		for _, item := range v {
			text, err := plain(item)
			if err != nil {
				return "", err
			}
			all = append(all, text)
		}
		return strings.Join(all, " "), nil
	}
	return "", fmt.Errorf("it is a %T, and not a number, a text or a list of those", v)
}

// use checks what was said, and puts it together.
func use(name string, said map[string]string) (Use, error) {
	f, err := Named(name)
	if err != nil {
		return Use{}, err
	}
	u := Use{Fault: f, At: Nowhere(), set: map[string]value{}}
	settable := f.Settable()
	for _, key := range slices.Sorted(maps.Keys(said)) {
		i := slices.IndexFunc(settable, func(p Param) bool { return p.Name == key })
		if i < 0 {
			return Use{}, fmt.Errorf("fault %s: nothing is called %q%s", name, key, f.knows(key))
		}
		v, err := settable[i].parse(said[key])
		if err != nil {
			return Use{}, fmt.Errorf("fault %s: %s: %w", name, key, err)
		}
		if err := u.put(key, v); err != nil {
			return Use{}, fmt.Errorf("fault %s: %w", name, err)
		}
	}
	return u, nil
}

// knows says what could be meant by a key that a fault does not know.
func (f *Fault) knows(key string) string {
	var names []string
	for _, p := range f.Settable() {
		names = append(names, p.Name)
	}
	if _, place := places[key]; place && len(f.Places) == 0 {
		return ": this fault has no place"
	}
	return near.Suggest(key, names)
}

func (u *Use) put(key string, v value) error {
	if !slices.Contains(u.Fault.Places, key) {
		u.set[key] = v
		return nil
	}
	if u.At.Set() {
		return fmt.Errorf("it is told two places, %s and %s=%s: one is wanted", u.At, key, v.text)
	}
	switch key {
	case "event":
		u.At.Event = v.n
	case "byte":
		u.At.Byte = int64(v.n)
	case "time":
		u.At.Time = v.span
	}
	return nil
}

// Streams is how many streams of a run suffer the fault: the first ones; 0 is all.
func (u Use) Streams() int {
	if v, said := u.set["streams"]; said || u.Fault.Family != Wire {
		return v.n
	}
	return 1
}

// Begin sets the fault to work on one stream. All chance comes from r.
func (u Use) Begin(r *rand.Rand, thread, run string) Effect {
	if chance, said := u.set["chance"]; said && r.IntN(100) >= chance.n {
		return Effect{}
	}
	a := Args{At: u.At, Ints: map[string]int{}, Spans: map[string]time.Duration{}, Texts: map[string]string{}, Rand: r, Thread: thread, Run: run}
	for _, p := range u.Fault.Params {
		v, said := u.set[p.Name]
		if !said && p.Default != "" {
			v, _ = p.parse(p.Default) // a test parses all defaults
		}
		switch p.Type {
		case "int":
			a.Ints[p.Name] = v.n
		case "duration":
			a.Spans[p.Name] = v.span
		default:
			a.Texts[p.Name] = v.text
		}
	}
	return u.Fault.Begin(a)
}
