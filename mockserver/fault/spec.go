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

// A Spec is a fault with what it was told: where it strikes, and how. [FromYAML] and
// [Parse] make checked ones. A literal names its place: the zero [Place] is one.
type Spec struct {
	Fault   *Fault
	Trigger Trigger

	params map[string]paramValue // what was said; what was not has its default
}

// A paramValue is what a parameter is set to: one of the three, by its type.
type paramValue struct {
	text     string // as it was said, and for the type "text" what it is
	number   int
	duration time.Duration
}

// NoTrigger is the place that is not set.
func NoTrigger() Trigger { return Trigger{Event: -1, Byte: -1, Time: -1} }

// IsSet says whether it is a place at all.
func (p Trigger) IsSet() bool { return p.Event >= 0 || p.Byte >= 0 || p.Time >= 0 }

// String is the place as [Parse] reads it: "event=3".
func (p Trigger) String() string {
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

// commonParams is what every fault can be told, besides its place.
var commonParams = []Param{
	{Name: "chance", Doc: "of a hundred requests that many suffer it, by the seed", Type: "int", Default: "100", Min: "1", Max: "100"},
	{Name: "streams", Doc: "how many streams of a run suffer it, the first ones; 0 is all. A fault on the wire strikes the first alone if nothing is said", Type: "int", Min: "0", Max: "1000000"},
}

// triggerParams are the ways to say where, with their bounds.
var triggerParams = map[string]Param{
	"event": {Name: "event", Doc: "before the event of this number, from 0", Type: "int", Min: "0", Max: "1000000"},
	"byte":  {Name: "byte", Doc: "after so many bytes of the body", Type: "int", Min: "0", Max: "1000000000"},
	"time":  {Name: "time", Doc: "so long after the stream began", Type: "duration", Min: "0s", Max: "1h"},
}

// ByName is the fault of a name, with a suggestion where there is none.
func ByName(name string) (*Fault, error) {
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

// AllParams is all that can be set: the parameters of a fault, the ways to say where, and
// what every fault can be told.
func (f *Fault) AllParams() []Param {
	all := slices.Clone(f.Params)
	for _, name := range f.Triggers {
		all = append(all, triggerParams[name])
	}
	return append(all, commonParams...)
}

// FromYAML is a use as scripts say it: the name of a fault, and what is set, as a
// decoder of YAML or JSON gives it.
func FromYAML(name string, args map[string]any) (Spec, error) {
	settings := map[string]string{}
	for key, v := range args {
		text, err := formatValue(v)
		if err != nil {
			return Spec{}, fmt.Errorf("fault %s: %s: %w", name, key, err)
		}
		settings[key] = text
	}
	return newSpec(name, settings)
}

// formatValue is a value of a document as text.
func formatValue(v any) (string, error) {
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
			text, err := formatValue(item)
			if err != nil {
				return "", err
			}
			all = append(all, text)
		}
		return strings.Join(all, " "), nil
	}
	return "", fmt.Errorf("it is a %T, and not a number, a text or a list of those", v)
}

// newSpec checks what was said, and puts it together.
func newSpec(name string, settings map[string]string) (Spec, error) {
	f, err := ByName(name)
	if err != nil {
		return Spec{}, err
	}
	u := Spec{Fault: f, Trigger: NoTrigger(), params: map[string]paramValue{}}
	params := f.AllParams()
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		i := slices.IndexFunc(params, func(p Param) bool { return p.Name == key })
		if i < 0 {
			return Spec{}, fmt.Errorf("fault %s: nothing is called %q%s", name, key, f.unknownKeyHint(key))
		}
		v, err := params[i].parse(settings[key])
		if err != nil {
			return Spec{}, fmt.Errorf("fault %s: %s: %w", name, key, err)
		}
		if err := u.setParam(key, v); err != nil {
			return Spec{}, fmt.Errorf("fault %s: %w", name, err)
		}
	}
	return u, nil
}

// unknownKeyHint says what could be meant by a key that a fault does not know.
func (f *Fault) unknownKeyHint(key string) string {
	var names []string
	for _, p := range f.AllParams() {
		names = append(names, p.Name)
	}
	if _, place := triggerParams[key]; place && len(f.Triggers) == 0 {
		return ": this fault has no place"
	}
	return near.Suggest(key, names)
}

func (u *Spec) setParam(key string, v paramValue) error {
	if !slices.Contains(u.Fault.Triggers, key) {
		u.params[key] = v
		return nil
	}
	if u.Trigger.IsSet() {
		return fmt.Errorf("it is told two places, %s and %s=%s: one is wanted", u.Trigger, key, v.text)
	}
	switch key {
	case "event":
		u.Trigger.Event = v.number
	case "byte":
		u.Trigger.Byte = int64(v.number)
	case "time":
		u.Trigger.Time = v.duration
	}
	return nil
}

// MaxStreams is how many streams of a run suffer the fault: the first ones; 0 is all.
func (u Spec) MaxStreams() int {
	if v, isSet := u.params["streams"]; isSet || u.Fault.Category != CategoryWire {
		return v.number
	}
	return 1
}

// NewEffect sets the fault to work on one stream. All chance comes from r.
func (u Spec) NewEffect(r *rand.Rand, thread, run string) Effect {
	if chance, isSet := u.params["chance"]; isSet && r.IntN(100) >= chance.number {
		return Effect{}
	}
	a := Args{Trigger: u.Trigger, Ints: map[string]int{}, Durations: map[string]time.Duration{}, Strings: map[string]string{}, Rand: r, Thread: thread, Run: run}
	for _, p := range u.Fault.Params {
		v, isSet := u.params[p.Name]
		if !isSet && p.Default != "" {
			v, _ = p.parse(p.Default) // a test parses all defaults
		}
		switch p.Type {
		case "int":
			a.Ints[p.Name] = v.number
		case "duration":
			a.Durations[p.Name] = v.duration
		default:
			a.Strings[p.Name] = v.text
		}
	}
	return u.Fault.NewEffect(a)
}
