package suites

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec/dialect"
)

// Check sets zero fields of t to their defaults, and returns an error if a field is invalid. The
// error is a [*FieldError] if the field is Scenarios, Checks, ClaimedCapabilities,
// LackedCapabilities, PromptOverrides or OtherHeader. Check sends no requests.
func (t *Target) Check() error {
	t.Parallel, t.Timeout = cmp.Or(t.Parallel, DefaultParallel), cmp.Or(t.Timeout, DefaultTimeout)
	t.MaxEventBytes = cmp.Or(t.MaxEventBytes, dialect.MaxEventBytes)
	if err := t.Limits.validate(); err != nil {
		return err
	}
	t.Limits = t.Limits.withDefaults(t.Timeout)
	t.resources = newRunResources(t.Limits, t.StreamLimit)
	t.Salt = cmp.Or(t.Salt, NewSalt())
	if err := t.checkOwnScenarios(); err != nil {
		return &FieldError{"Scenarios", err}
	}
	if err := t.checkOwnChecks(); err != nil {
		return &FieldError{"Checks", err}
	}
	if err := t.checkCapabilities(); err != nil {
		return err
	}
	if err := t.checkPrompts(); err != nil {
		return &FieldError{"PromptOverrides", err}
	}
	for _, glob := range slices.Concat(t.Only, t.Skip) {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("invalid glob %q: %w", glob, err)
		}
	}
	if t.Sequences < 0 || t.Sequences > MaxSequences {
		return fmt.Errorf("invalid number of sequences %d (must be from 0 to %d)", t.Sequences, MaxSequences)
	}
	if t.StreamLimit < 0 || t.StreamLimit > MaxStreamLimit {
		return fmt.Errorf("invalid stream limit %d (must be from 1 to %d, or 0 for unknown)", t.StreamLimit, MaxStreamLimit)
	}
	if err := t.checkCredentials(); err != nil {
		return &FieldError{"OtherHeader", err}
	}
	_, err := t.newClients(t.wireConfig(), rand.New(rand.NewPCG(0, 0)))
	return err
}

// A FieldError is an error from [Target.Check] that concerns one field of the target.
type FieldError struct {
	Field string // name of the field in [Target]
	Err   error  // the reason why its value is invalid
}

// Error returns the message of e.Err.
func (e *FieldError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e *FieldError) Unwrap() error { return e.Err }

// checkCapabilities returns a [*FieldError] if the target claims or lacks an unknown capability,
// lacks a capability that every target must have, or both claims and lacks the same capability.
func (t *Target) checkCapabilities() error {
	capabilities := capabilityNames(t.scenarios())
	known := append(capabilities, "all")
	for _, name := range t.ClaimedCapabilities {
		if !slices.Contains(known, name) {
			err := fmt.Errorf("unknown capability %q (want \"all\" or one of %s)", name, strings.Join(capabilities, ", "))
			return &FieldError{"ClaimedCapabilities", err}
		}
	}
	for _, name := range t.LackedCapabilities {
		var err error
		switch {
		case !slices.Contains(known, name):
			lackable := slices.DeleteFunc(slices.Clone(capabilities), func(s string) bool { return s == "text" })
			err = fmt.Errorf("unknown capability %q (want one of %s)", name, strings.Join(lackable, ", "))
		case name == "text":
			err = errors.New(`"text" cannot be lacking: every target must support it`)
		case name == "all":
			err = errors.New(`"all" cannot be lacking: every target must support "text"`)
		case slices.Contains(t.ClaimedCapabilities, name):
			err = fmt.Errorf("capability %q is both claimed and lacked", name)
		}
		if err != nil {
			return &FieldError{"LackedCapabilities", err}
		}
	}
	return nil
}

// checkPrompts returns an error if t.PromptOverrides contains an empty prompt, or a prompt for a
// scenario that is unknown or sends no prompt. Each of t.Scenarios may send one.
func (t *Target) checkPrompts() error {
	known := slices.Concat(slices.Sorted(maps.Keys(naturalPrompts)), scenarioNames(t.Scenarios))
	for _, name := range slices.Sorted(maps.Keys(t.PromptOverrides)) {
		switch {
		case strings.TrimSpace(t.PromptOverrides[name]) == "":
			return fmt.Errorf("the prompt for scenario %q is empty", name)
		case slices.Contains(known, name):
		case slices.Contains(scenarioNames(t.scenarios()), name):
			return fmt.Errorf("scenario %q sends no prompt (want one of %s)", name, strings.Join(known, ", "))
		default:
			return fmt.Errorf("unknown scenario %q (want one of %s)", name, strings.Join(known, ", "))
		}
	}
	return nil
}
