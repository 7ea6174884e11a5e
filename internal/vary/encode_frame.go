package vary

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/internal/sse"
)

// A fieldLine is one field of a frame, or a comment if name is "".
type fieldLine struct{ name, value string }

// parseFrame returns the lines of frame. The result ok reports whether frame has the form in which
// the reference server writes frames: lines that end with LF, followed by a blank line. The lines
// are comments, and at most one data, one id and one event field; an id or event field requires a
// data field. If ok is false, lines may be incomplete.
func parseFrame(frame []byte) (lines []fieldLine, ok bool) {
	if bytes.ContainsAny(frame, "\r\x00") {
		return nil, false
	}
	seen, end := map[string]bool{}, len(frame)
	for l := range sse.Lines(frame) {
		known := slices.Contains([]string{"", "id", "event", "data"}, l.Name)
		if !known || l.Name != "" && seen[l.Name] {
			return nil, false
		}
		seen[l.Name] = true
		lines, end = append(lines, fieldLine{l.Name, string(l.Value)}), l.Next
	}
	return lines, end < len(frame) && (!seen["id"] && !seen["event"] || seen["data"])
}

// hasData reports whether at least one of the given fields is a data field.
func hasData(fields []fieldLine) bool {
	return slices.ContainsFunc(fields, func(l fieldLine) bool { return l.name == "data" })
}

// encodeFields appends the given lines of a frame to dst, encoded as the variation prescribes, and
// returns the extended slice. It does not append the blank line at the end. The argument frame,
// which contains the bytes of the frame or only of its data, determines the random choices.
func (v *Variation) encodeFields(dst, frame []byte, lines []fieldLine) []byte {
	r := v.rng("frame", frame)
	var fields []fieldLine
	for _, l := range lines {
		switch l.name {
		case "id":
			l.value = v.EncodeCursor(l.value)
		case "data":
			fields = append(fields, v.encodeData(r, l.value)...)
			continue
		}
		fields = append(fields, l)
	}
	if hasData(lines) {
		fields = v.addFields(r, fields)
	}
	if v.Has(FieldOrder) {
		fields = reorderFields(r, fields)
	}
	for _, l := range fields {
		if v.Has(InnerComments) && r.IntN(4) == 0 {
			dst = v.appendLineEnd(r, append(dst, ":"+v.commentText(r)...))
		}
		dst = append(append(dst, l.name...), ':')
		if l.name != "" && (!v.Has(NoSpace) || r.IntN(4) == 0 || strings.HasPrefix(l.value, " ")) {
			dst = append(dst, ' ')
		}
		dst = v.appendLineEnd(r, append(dst, l.value...))
	}
	return dst
}

// encodeData returns value, the JSON text in the data field of a frame, in a different encoding
// with the same meaning. If value is not valid JSON, it is not changed. The result has one data
// field for each line of the text.
func (v *Variation) encodeData(r *rand.Rand, value string) (all []fieldLine) {
	text := v.rewriteJSON(r, []byte(value), v.profile.frameShape, v.Has(MultilineData))
	for one := range strings.SplitSeq(string(text), "\n") {
		all = append(all, fieldLine{"data", one})
	}
	return all
}

// addFields inserts additional fields at random positions of a frame and returns the result. The
// additional fields do not change the event of the frame. The traits [EventNames], [EventIDs],
// [Retry] and [UnknownFields] of the variation determine their names.
func (v *Variation) addFields(r *rand.Rand, fields []fieldLine) []fieldLine {
	add := func(t Trait, name, value string) {
		taken := slices.ContainsFunc(fields, func(l fieldLine) bool { return l.name == name })
		if v.Has(t) && !taken && r.IntN(3) == 0 {
			fields = slices.Insert(fields, r.IntN(len(fields)+1), fieldLine{name, value})
		}
	}
	add(EventNames, "event", "message") // the default name of events
	add(EventIDs, "id", strconv.FormatUint(r.Uint64(), 36))
	add(Retry, "retry", retryValues[r.IntN(len(retryValues))])
	add(UnknownFields, unknownFieldNames[r.IntN(len(unknownFieldNames))], `{"type":"error"}`)
	return fields
}

var (
	// retryValues are values of the retry field in milliseconds. They are short to keep tests fast.
	retryValues       = []string{"0", "10", "0100", "250"}
	unknownFieldNames = []string{"Data", "datax", "comment", "x-trace", " data"}
	commentTexts      = []string{"", " ", " busy", "ping", ": :", ` data: {"type":"error"}`, " \u00fcber \U0001f4ac", " " + strings.Repeat("-", 2000)}
)

// reorderFields shuffles the fields of a frame in place and returns them. Data fields keep their
// order relative to each other.
func reorderFields(r *rand.Rand, fields []fieldLine) []fieldLine {
	var data []fieldLine
	for _, l := range fields {
		if l.name == "data" {
			data = append(data, l)
		}
	}
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	for i, l := range fields {
		if l.name == "data" {
			fields[i], data = data[0], data[1:]
		}
	}
	return fields
}

// commentText returns the text that follows the colon of a comment. It is the text that the dialect
// requires or, if the dialect requires none, a random one.
func (v *Variation) commentText(r *rand.Rand) string {
	if v.profile.keepAliveText != "" {
		return v.profile.keepAliveText
	}
	return commentTexts[r.IntN(len(commentTexts))]
}

// appendLineEnd appends one of the variation's line endings to dst and returns the extended slice.
// If dst ends with CR, it appends CR instead of LF, because LF after CR would not be another line
// ending.
func (v *Variation) appendLineEnd(r *rand.Rand, dst []byte) []byte {
	end := v.lineEnds[r.IntN(len(v.lineEnds))]
	if end == "\n" && bytes.HasSuffix(dst, []byte("\r")) {
		end = "\r"
	}
	return append(dst, end...)
}
