package vary

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A line is one field of a frame, or a comment if it has no name.
type line struct{ name, value string }

// lines are those of a frame as our own servers spell it: with fields, or comments
// only, each line and the frame itself ended by a LF. What is spelled in any other way
// is not ok.
func lines(frame []byte) (all []line, ok bool) {
	text, ok := strings.CutSuffix(string(frame), "\n\n")
	if !ok || strings.ContainsAny(text, "\r\x00") {
		return nil, false
	}
	seen := map[string]bool{}
	for one := range strings.SplitSeq(text, "\n") {
		name, value, colon := strings.Cut(one, ":")
		known := slices.Contains([]string{"", "id", "event", "data"}, name)
		if name != "" {
			value = strings.TrimPrefix(value, " ")
		}
		if !colon || !known || name != "" && seen[name] {
			return nil, false
		}
		seen[name] = true
		all = append(all, line{name, value})
	}
	return all, !seen["id"] && !seen["event"] || seen["data"]
}

// speaks says that there is data.
func speaks(all []line) bool {
	return slices.ContainsFunc(all, func(l line) bool { return l.name == "data" })
}

// spell spells the fields of a frame in another way, without the blank line.
func (v *Variation) spell(dst, frame []byte, all []line) []byte {
	r := v.chance("frame", frame)
	var fields []line
	for _, l := range all {
		switch l.name {
		case "id":
			l.value = v.Cursor(l.value)
		case "data":
			fields = append(fields, v.data(r, l.value)...)
			continue
		}
		fields = append(fields, l)
	}
	if speaks(all) {
		fields = v.further(r, fields)
	}
	if v.Has(FieldOrder) {
		fields = reorder(r, fields)
	}
	for _, l := range fields {
		if v.Has(InnerComments) && r.IntN(4) == 0 {
			dst = v.end(r, append(dst, ":"+v.comment(r)...))
		}
		dst = append(append(dst, l.name...), ':')
		if l.name != "" && (!v.Has(NoSpace) || r.IntN(4) == 0 || strings.HasPrefix(l.value, " ")) {
			dst = append(dst, ' ')
		}
		dst = v.end(r, append(dst, l.value...))
	}
	return dst
}

// data is what is said, over one line or several.
func (v *Variation) data(r *rand.Rand, value string) (all []line) {
	text := v.json(r, []byte(value), v.book.frames, pen{lines: v.Has(ManyLines), words: true})
	for one := range strings.SplitSeq(string(text), "\n") {
		all = append(all, line{"data", one})
	}
	return all
}

// further adds fields without meaning to those of a frame.
func (v *Variation) further(r *rand.Rand, fields []line) []line {
	add := func(t Trait, name, value string) {
		taken := slices.ContainsFunc(fields, func(l line) bool { return l.name == name })
		if v.Has(t) && !taken && r.IntN(3) == 0 {
			fields = slices.Insert(fields, r.IntN(len(fields)+1), line{name, value})
		}
	}
	add(EventNames, "event", "message") // what an event without a name is called
	add(EventIDs, "id", strconv.FormatUint(r.Uint64(), 36))
	add(Retry, "retry", retries[r.IntN(len(retries))])
	add(UnknownFields, strangeFields[r.IntN(len(strangeFields))], `{"type":"error"}`)
	return fields
}

var (
	// retries are short: who tests with them should not have to wait.
	retries       = []string{"0", "10", "0100", "250"}
	strangeFields = []string{"Data", "datax", "comment", "x-trace", " data"}
	commentTexts  = []string{"", " ", " keep-alive", "ping", ": :", ` data: {"type":"error"}`, " \u00fcber \U0001f4ac", " " + strings.Repeat("-", 2000)}
)

// reorder changes the order of fields. The lines of data keep theirs.
func reorder(r *rand.Rand, fields []line) []line {
	var said []line
	for _, l := range fields {
		if l.name == "data" {
			said = append(said, l)
		}
	}
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	for i, l := range fields {
		if l.name == "data" {
			fields[i], said = said[0], said[1:]
		}
	}
	return fields
}

// comment is what follows the colon of a comment.
func (v *Variation) comment(r *rand.Rand) string {
	if v.book.says != "" {
		return v.book.says
	}
	return commentTexts[r.IntN(len(commentTexts))]
}

// end ends a line. A line that is empty and comes after a CR is not ended by a LF
// alone: the two would be one end.
func (v *Variation) end(r *rand.Rand, dst []byte) []byte {
	end := v.ends[r.IntN(len(v.ends))]
	if end == "\n" && bytes.HasSuffix(dst, []byte("\r")) {
		end = "\r"
	}
	return append(dst, end...)
}
