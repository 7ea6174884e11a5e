package fault

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/near"
)

// A Spec is a fault together with its trigger and parameters. [FromYAML] and [Parse] return
// validated values. A composite literal must always set Trigger: the zero Trigger means "before
// event 0", and [NoTrigger] means that there is no trigger.
type Spec struct {
	Fault   *Fault
	Trigger Trigger

	params map[string]paramValue // parameters without an entry have their defaults
}

// A paramValue is the value of a parameter. The field text is always set; number is set for an int
// and, in nanoseconds, for a duration.
type paramValue struct {
	text   string
	number int64
}

// NoTrigger returns a Trigger with no field set.
func NoTrigger() Trigger { return Trigger{Event: -1, Byte: -1, Time: -1} }

// IsSet reports whether the trigger names a position, that is, whether one of its fields is set.
func (p Trigger) IsSet() bool { return p.Event >= 0 || p.Byte >= 0 || p.Time >= 0 }

// String returns the trigger in the syntax of [Parse], such as "event=3". It returns "" if no field
// is set.
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

// commonParams lists the parameters that every fault has.
var commonParams = []Param{
	{Name: "chance", Doc: "percentage of requests that are affected, chosen by the seed", Type: "int", Default: "100", Min: "1", Max: "100"},
	{Name: "streams", Doc: "number of streams of a run that are affected, counted from the first; 0: all. The default is 1 for faults of the category wire and 0 for others", Type: "int", Min: "0", Max: "1000000"},
}

// triggerParams maps the name of each kind of trigger to the parameter that sets the trigger.
var triggerParams = map[string]Param{
	"event": {Name: "event", Doc: "before the event with this number, from 0", Type: "int", Min: "0", Max: "1000000"},
	"byte":  {Name: "byte", Doc: "after this number of bytes of the body", Type: "int", Min: "0", Max: "1000000000"},
	"time":  {Name: "time", Doc: "after this time since the stream began", Type: "duration", Min: "0s", Max: "1h"},
}

// All lists all faults, ordered by category.
var All = slices.Concat(
	inCategory(CategoryResponse, responseFaults),
	inCategory(CategoryProtocol, slices.Concat(protocolFaults, inTurnFaults, stateFaults)),
	inCategory(CategoryResume, resumeFaults),
	inCategory(CategoryWire, wireFaults),
)

// inCategory sets the category of each of the faults to c, and returns faults.
func inCategory(c Category, faults []*Fault) []*Fault {
	for _, f := range faults {
		f.Category = c
	}
	return faults
}

// ByName returns the fault with the given name. If there is no such fault, it returns an error that
// suggests similar names, or says that the semicolon after a name is missing.
func ByName(name string) (*Fault, error) {
	var names []string
	for _, f := range All {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	if first, rest, ok := strings.Cut(name, " "); ok && slices.Contains(names, first) {
		return nil, fmt.Errorf("fault %s: want a semicolon before %q", first, strings.TrimSpace(rest))
	}
	if strings.Contains(name, "=") {
		return nil, fmt.Errorf("unknown fault %q: parameters follow a fault after a semicolon, as in \"abort; event=3\"",
			name)
	}
	return nil, fmt.Errorf("unknown fault %q%s", name, near.Suggest(name, names))
}

// AllParams returns the parameters of the fault: its own, those that set its triggers and those
// that every fault has, in this order.
func (f *Fault) AllParams() []Param {
	all := slices.Clone(f.Params)
	for _, name := range f.Triggers {
		all = append(all, triggerParams[name])
	}
	return append(all, commonParams...)
}

// FromYAML returns the Spec of the fault with the given name. The map args contains the values of
// its trigger and parameters by name, as decoded from YAML or JSON. FromYAML returns an error if
// the fault or a parameter is unknown, a value is invalid or there is more than one trigger.
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

// formatValue returns v, a decoded YAML or JSON value, as the text of a parameter; the items of a
// list are separated by spaces. It returns an error if v is null or an object, or a list that
// contains one.
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
	return "", fmt.Errorf("got a value of type %T, want a number, a text or a list of these", v)
}

// newSpec returns the Spec of the fault with the given name. The map settings contains the values
// of its trigger and parameters by name, as text. newSpec returns an error if the fault or a
// parameter is unknown, a value is invalid or there is more than one trigger.
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
			var names []string
			for _, p := range params {
				names = append(names, p.Name)
			}
			hint := near.Suggest(key, names)
			if _, isTrigger := triggerParams[key]; isTrigger && len(f.Triggers) == 0 {
				hint = ": this fault has no trigger"
			}
			return Spec{}, fmt.Errorf("%s has no parameter %q%s", name, key, hint)
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

// setParam sets a trigger or a parameter of u to v. If key is one of u.Fault.Triggers, v becomes
// the trigger; setParam returns an error if u has a trigger already. Any other key must be the name
// of a parameter of the fault; v replaces an earlier value of it.
func (u *Spec) setParam(key string, v paramValue) error {
	if !slices.Contains(u.Fault.Triggers, key) {
		u.params[key] = v
		return nil
	}
	if u.Trigger.IsSet() {
		return fmt.Errorf("got two triggers, %s and %s=%s, want at most one", u.Trigger, key, v.text)
	}
	switch key {
	case "event":
		u.Trigger.Event = int(v.number)
	case "byte":
		u.Trigger.Byte = v.number
	case "time":
		u.Trigger.Time = time.Duration(v.number)
	}
	return nil
}

// MaxStreams returns the number of streams of a run that the fault affects, counted from the first
// one. It returns 0 if the fault affects all streams.
func (u Spec) MaxStreams() int {
	if v, isSet := u.params["streams"]; isSet || u.Fault.Category != CategoryWire {
		return int(v.number)
	}
	return 1
}

// NewEffect returns the effect of the fault on the response that r describes. The functions of the
// effect call r.Applied, in any goroutine, each time they change something. If the response ends
// before the trigger, they do not call it. For an [Effect.Response], r.Applied is not called. The
// effect is empty if the response is not affected because of the parameter "chance".
func (u Spec) NewEffect(r ResponseContext) Effect {
	if chance, isSet := u.params["chance"]; isSet && r.Rand.IntN(100) >= int(chance.number) {
		return Effect{}
	}
	a := Args{
		Trigger: u.Trigger, ResponseContext: r,
		Ints: map[string]int{}, Durations: map[string]time.Duration{}, Strings: map[string]string{},
	}
	for _, p := range u.Fault.Params {
		v, isSet := u.params[p.Name]
		if !isSet && p.Default != "" {
			v, _ = p.parse(p.Default) // TestCatalogue checks that defaults are valid
		}
		switch p.Type {
		case "int":
			a.Ints[p.Name] = int(v.number)
		case "duration":
			a.Durations[p.Name] = time.Duration(v.number)
		default:
			a.Strings[p.Name] = v.text
		}
	}
	return u.Fault.NewEffect(a)
}
