package mockserver

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/pace"
)

// overrides holds the settings that a request makes for itself by headers:
//
//	X-Mock-Seed: 7                          seed of the random choices
//	X-Mock-Fault: abort; event=3, drip      faults, by the names of `streamassay list faults`
//	X-Mock-Pace: {first: 300ms, rate: 40}   pace, as in a script
//	X-Mock-Vary: 7                          seed of the variations of the encoding, or "off"
//	X-Mock-Hold: 3                          number of the first event that is held, from 0
type overrides struct {
	seed   *uint64
	faults []fault.Spec
	pace   *pace.Pace
	vary   struct {
		set  bool
		seed *uint64
	}
	hold *int
}

// maxOverrideHeader is the maximum length of an X-Mock header value in bytes.
const maxOverrideHeader = 4096

// overrideHeaders lists the X-Mock headers with the functions that parse their values.
var overrideHeaders = []struct {
	name string
	read func(*overrides, string) error
}{
	{seedHeader, (*overrides).readSeed},
	{"X-Mock-Fault", (*overrides).readFaults},
	{"X-Mock-Pace", (*overrides).readPace},
	{"X-Mock-Vary", (*overrides).readVary},
	{"X-Mock-Hold", (*overrides).readHold},
}

// parseOverrides returns the settings that a request makes by its X-Mock headers. It returns an
// error if such a header is unknown, repeated or invalid.
func parseOverrides(h http.Header) (o overrides, err error) {
	for name, values := range h {
		if !strings.HasPrefix(name, "X-Mock-") {
			continue
		}
		names := make([]string, len(overrideHeaders))
		at := -1
		for i, one := range overrideHeaders {
			if names[i] = one.name; one.name == name {
				at = i
			}
		}
		switch {
		case at < 0:
			return o, fmt.Errorf("unknown header %.60s%s", name, near.Suggest(name, names))
		case len(values) > 1:
			return o, fmt.Errorf("header %s occurs %d times, want 1", name, len(values))
		case len(values[0]) > maxOverrideHeader:
			return o, fmt.Errorf("header %s has %d bytes, want at most %d", name, len(values[0]), maxOverrideHeader)
		}
		if err = overrideHeaders[at].read(&o, values[0]); err != nil {
			return o, fmt.Errorf("%s: %w", name, err)
		}
	}
	return o, nil
}

func (o *overrides) readSeed(text string) error {
	n, err := ParseSeed(text)
	o.seed = &n
	return err
}

func (o *overrides) readFaults(text string) (err error) {
	o.faults, err = fault.Parse(text)
	return err
}

func (o *overrides) readPace(text string) (err error) {
	read, err := ParsePace(text)
	o.pace = &read
	return err
}

// ParsePace parses a pace in the YAML form that scripts use, such as
// "{first: 300ms, rate: 40}". It returns an error if the text is not valid YAML or
// [pace.Parse] refuses the value.
func ParsePace(text string) (pace.Pace, error) {
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return pace.Pace{}, fmt.Errorf("invalid pace %.100q (e.g. {first: 300ms, rate: 40})", text)
	}
	return pace.Parse(value)
}

func (o *overrides) readVary(text string) error {
	o.vary.set = true
	if text == "off" {
		return nil
	}
	n, err := ParseSeed(text)
	o.vary.seed = &n
	return err
}

func (o *overrides) readHold(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("invalid event number %.40q (want an integer, 0 or more)", text)
	}
	o.hold = &n
	return nil
}

// ParseSeed parses a seed: an integer from 0 to 2^53-1, the range that JSON numbers represent
// exactly. It returns an error for any other text.
func ParseSeed(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil {
		return 0, fmt.Errorf("invalid seed %.40q (want an integer from 0 to %d)", text, uint64(1)<<53-1)
	}
	return n, nil
}
