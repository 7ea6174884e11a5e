package diff

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A factComparison is how two values of a fact are compared.
type factComparison int

const (
	compareEqual    factComparison = iota // they are the same
	compareAsID                           // they are ids: each always stands for the same one of the other side
	comparePresence                       // both are there: numbers and times that nobody can compare
)

// A fact is one thing that an event says.
type fact struct {
	name, value string
	comparison  factComparison
}

// relevantHeaders are the headers of an answer that say something to a client.
var relevantHeaders = []string{
	"Content-Type", "Content-Encoding", "Cache-Control", "X-Accel-Buffering", "Location", "Retry-After", "WWW-Authenticate", "Allow",
	"Access-Control-Allow-Origin",
}

// maxDepth bounds how deep parts are looked into.
const maxDepth = 8

// facts are what an event says, in a fixed order, without what is absent.
func facts(e spec.Event) []fact { return appendFacts(nil, "", e, 0) }

func appendFacts(all []fact, prefix string, e spec.Event, deep int) []fact {
	add := func(name, value string, by factComparison) {
		if value != "" {
			all = append(all, fact{prefix + name, value, by})
		}
	}
	if e.StatusCode != 0 {
		add("http", strconv.Itoa(e.StatusCode), compareEqual)
	}
	if e.Kind == spec.HTTPResponse {
		for _, name := range relevantHeaders {
			add(strings.ToLower(name), header(e, name), compareEqual)
		}
	} else {
		add("media", e.MediaType, compareEqual)
	}
	for _, slot := range []struct{ name, value string }{
		{"status", e.Status}, {"code", e.Code}, {"name", e.Name}, {"role", e.Role}, {"type", e.Type}, {"index", e.Index},
		{"text", canonical(e.Text)}, {"more", e.HasMore}, {"about", e.Description}, {"limit", e.PollLimit}, {"end", endText(e)}, {"breaks", violationText(e)},
	} {
		add(slot.name, slot.value, compareEqual)
	}
	place := compareAsID
	if e.Kind.Phase() == "delta" { // of which piece of the text, is anybody's guess
		place = comparePresence
	}
	add("cursor", e.Cursor, place)
	for _, id := range []struct{ name, value string }{
		{"thread", e.Thread}, {"run", e.Run}, {"message", e.Message}, {"call", e.Call}, {"id", e.ID},
	} {
		add(id.name, id.value, compareAsID)
	}
	for _, some := range []struct{ name, value string }{{"day", e.Day}, {"seq", e.Seq}, {"created", e.Created}, {"completed", e.Completed}} {
		add(some.name, some.value, comparePresence)
	}
	if deep < maxDepth && len(e.Parts) > 0 {
		kinds := make([]string, len(e.Parts))
		for i, p := range e.Parts {
			kinds[i] = string(p.Kind)
		}
		add("parts", strings.Join(kinds, " "), compareEqual)
		for i, p := range e.Parts {
			all = appendFacts(all, fmt.Sprintf("%sparts[%d].", prefix, i), p, deep+1)
		}
	}
	return all
}

// header is a field's values, each once, without the spaces that mean nothing.
func header(e spec.Event, name string) string {
	var values []string
	for _, f := range e.Header {
		if !strings.EqualFold(f.Name, name) {
			continue
		}
		for v := range strings.SplitSeq(f.Value, ",") {
			values = append(values, strings.Join(strings.Fields(strings.ReplaceAll(v, ";", "; ")), " "))
		}
	}
	return strings.Join(values, ", ")
}

// canonical is a text as it is, and JSON so that the order of names does not count.
func canonical(text string) string {
	if t := strings.TrimSpace(text); !strings.HasPrefix(t, "{") && !strings.HasPrefix(t, "[") {
		return text
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return text
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return text
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// endErrors are the ways in which a body ends before it is whole.
var endErrors = []error{spec.ErrClientLeft, spec.ErrTruncated, spec.ErrReset, spec.ErrIdleTimeout, spec.ErrLimitExceeded, spec.ErrNotHTTP}

// endText says how a body ended, or that something cannot be read: in words that do not
// depend on the machine.
func endText(e spec.Event) string {
	switch {
	case e.Kind != spec.BodyEnd && e.Kind != spec.HTTPResponse && e.Err != nil:
		return "cannot be read"
	case e.Kind != spec.BodyEnd:
		return ""
	case e.Err == nil:
		return "whole"
	}
	if i := slices.IndexFunc(endErrors, func(err error) bool { return errors.Is(e.Err, err) }); i >= 0 {
		return endErrors[i].Error()
	}
	return "no answer"
}

// violationText names where an event breaks the document, and what is wrong with its bytes.
func violationText(e spec.Event) string {
	var all []string
	for _, b := range e.Violations {
		all = append(all, b.Location)
	}
	for _, f := range e.Flaws {
		all = append(all, string(f.Kind))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// describeEvent is an event in a line.
func describeEvent(e spec.Event) string {
	var all []string
	for _, f := range facts(e) {
		if f.comparison != comparePresence && (f.comparison != compareAsID || f.name == "call") {
			all = append(all, f.name+" "+quoteValue(f.value))
		}
	}
	return strings.Join(all, ", ")
}

// maxQuoted bounds a value in a line, in bytes.
const maxQuoted = 200

func quoteValue(v string) string {
	if len(v) > maxQuoted {
		return fmt.Sprintf("%q… (%d bytes)", v[:maxQuoted], len(v))
	}
	return strconv.Quote(v)
}
