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

// overrides are what a request wants for itself, in its headers:
//
//	X-Mock-Seed: 7                          where its chance comes from
//	X-Mock-Fault: abort; event=3, drip      faults, as `streamassay list faults` names them
//	X-Mock-Pace: {first: 300ms, rate: 40}   as in a script
//	X-Mock-Vary: 7                          another legal spelling, by this seed; "off"
//	X-Mock-Hold: 3                          the first event of its stream that waits to be let go
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

// maxOverrideHeader is how long one of the headers may be, in bytes.
const maxOverrideHeader = 4096

// overrideHeaders are the headers, and how each is read.
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
			return o, fmt.Errorf("%.60s: there is no such header%s", name, near.Suggest(name, names))
		case len(values) > 1 || len(values[0]) > maxOverrideHeader:
			return o, fmt.Errorf("%s: it is there once, with at most %d bytes", name, maxOverrideHeader)
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

// ParsePace reads a pace as it stands in scripts: "{first: 300ms, rate: 40}".
func ParsePace(text string) (pace.Pace, error) {
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return pace.Pace{}, fmt.Errorf("%.100q is no pace, such as {first: 300ms, rate: 40}", text)
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
		return fmt.Errorf("%.40q is no number of an event, from 0", text)
	}
	o.hold = &n
	return nil
}

// ParseSeed reads a seed: a whole number that JSON can carry.
func ParseSeed(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no seed: a whole number from 0 to %d", text, uint64(1)<<53-1)
	}
	return n, nil
}
