package vary

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A fieldLine is one field of a frame, or a comment if it has no name.
type fieldLine struct{ name, value string }

// parseFrame are those of a frame as our own servers spell it: with fields, or comments
// only, each line and the frame itself ended by a LF. What is spelled in any other way
// is not ok.
func parseFrame(frame []byte) (all []fieldLine, ok bool) {
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
		all = append(all, fieldLine{name, value})
	}
	return all, !seen["id"] && !seen["event"] || seen["data"]
}

// hasData says that there is data.
func hasData(all []fieldLine) bool {
	return slices.ContainsFunc(all, func(l fieldLine) bool { return l.name == "data" })
}

// encodeFields spells the fields of a frame in another way, without the blank line.
func (v *Variation) encodeFields(dst, frame []byte, all []fieldLine) []byte {
	r := v.rng("frame", frame)
	var fields []fieldLine
	for _, l := range all {
		switch l.name {
		case "id":
			l.value = v.EncodeCursor(l.value)
		case "data":
			fields = append(fields, v.encodeData(r, l.value)...)
			continue
		}
		fields = append(fields, l)
	}
	if hasData(all) {
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

// encodeData is what is said, over one line or several.
func (v *Variation) encodeData(r *rand.Rand, value string) (all []fieldLine) {
	text := v.rewriteJSON(r, []byte(value), v.profile.frameShape, jsonRewriter{allowNewlines: v.Has(MultilineData), allowEscapes: true})
	for one := range strings.SplitSeq(string(text), "\n") {
		all = append(all, fieldLine{"data", one})
	}
	return all
}

// addFields adds fields without meaning to those of a frame.
func (v *Variation) addFields(r *rand.Rand, fields []fieldLine) []fieldLine {
	add := func(t Trait, name, value string) {
		taken := slices.ContainsFunc(fields, func(l fieldLine) bool { return l.name == name })
		if v.Has(t) && !taken && r.IntN(3) == 0 {
			fields = slices.Insert(fields, r.IntN(len(fields)+1), fieldLine{name, value})
		}
	}
	add(EventNames, "event", "message") // what an event without a name is called
	add(EventIDs, "id", strconv.FormatUint(r.Uint64(), 36))
	add(Retry, "retry", retryValues[r.IntN(len(retryValues))])
	add(UnknownFields, unknownFieldNames[r.IntN(len(unknownFieldNames))], `{"type":"error"}`)
	return fields
}

var (
	// retryValues are short: who tests with them should not have to wait.
	retryValues       = []string{"0", "10", "0100", "250"}
	unknownFieldNames = []string{"Data", "datax", "comment", "x-trace", " data"}
	commentTexts      = []string{"", " ", " keep-alive", "ping", ": :", ` data: {"type":"error"}`, " \u00fcber \U0001f4ac", " " + strings.Repeat("-", 2000)}
)

// reorderFields changes the order of fields. The lines of data keep theirs.
func reorderFields(r *rand.Rand, fields []fieldLine) []fieldLine {
	var said []fieldLine
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

// commentText is what follows the colon of a comment.
func (v *Variation) commentText(r *rand.Rand) string {
	if v.profile.keepAliveText != "" {
		return v.profile.keepAliveText
	}
	return commentTexts[r.IntN(len(commentTexts))]
}

// appendLineEnd ends a line. A line that is empty and comes after a CR is not ended by a LF
// alone: the two would be one end.
func (v *Variation) appendLineEnd(r *rand.Rand, dst []byte) []byte {
	end := v.lineEnds[r.IntN(len(v.lineEnds))]
	if end == "\n" && bytes.HasSuffix(dst, []byte("\r")) {
		end = "\r"
	}
	return append(dst, end...)
}
