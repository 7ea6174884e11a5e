package coverage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// citationPattern matches one citation in the source of a requirement, such as
// "000_12d5b25074bebf3c.txt:23-26,30". Its groups are the file name of the document and the lines.
var citationPattern = regexp.MustCompile(`^([0-9a-z_]+\.(?:txt|md)):([0-9,-]+)$`)

// A lineCitation is a range of lines of one document that the source of a requirement cites.
type lineCitation struct {
	file  string
	lines LineRange
}

// citationsIn returns the ranges of lines that source, the source of a requirement, cites, in the
// order in which it cites them. It ignores invalid ranges, and documents that the source only
// mentions after "derived:" or "observed:".
func citationsIn(source string) (all []lineCitation) {
	for part := range strings.SplitSeq(source, "; ") {
		m := citationPattern.FindStringSubmatch(part)
		if m == nil {
			continue
		}
		for text := range strings.SplitSeq(m[2], ",") {
			if lines, err := parseLines(text); err == nil {
				all = append(all, lineCitation{m[1], lines})
			}
		}
	}
	return all
}

// Unmapped returns a readable description of each gap in documents, or nil if there are none. There
// is a gap if the source of a requirement contains the file name of a document, but no clause of
// that document names the requirement. There is also a gap if the source cites lines that do not
// overlap any clause that names the requirement. Only requirements for servers are considered.
func Unmapped(documents []DocumentMap, dialects []*dialect.Dialect) (all []string) {
	for _, d := range dialects {
		for _, r := range d.Requirements {
			for _, doc := range documents {
				if strings.Contains(r.Source, doc.File) && !doc.names(r.ID) {
					all = append(all, fmt.Sprintf("%s: %s points to %s, where no clause names it", d.Name, r.ID, doc.File))
					continue
				}
				for _, lines := range doc.unmappedLines(r) {
					all = append(all, fmt.Sprintf("%s: %s cites %s:%s, where no clause names it", d.Name, r.ID, doc.File, lines))
				}
			}
		}
	}
	return all
}

// names reports whether at least one clause of the document names the requirement with the given
// id.
func (d DocumentMap) names(id string) bool {
	return slices.ContainsFunc(d.Clauses, func(c Clause) bool { return slices.Contains(c.Requirements, id) })
}

// unmappedLines returns the ranges of lines of the document that r cites and that do not overlap a
// clause that names r.
func (d DocumentMap) unmappedLines(r spec.Requirement) (all []LineRange) {
	for _, c := range citationsIn(r.Source) {
		if c.file == d.File && !slices.ContainsFunc(d.Clauses, func(k Clause) bool {
			return k.Lines.Overlaps(c.lines) && slices.Contains(k.Requirements, r.ID)
		}) {
			all = append(all, c.lines)
		}
	}
	return all
}

// requirementsWithoutLines returns the requirements for servers, in the given dialects, that no
// clause of any document names. Such requirements were observed in released servers or derived from
// other requirements. Of several requirements with the same id, the result contains only the first.
func requirementsWithoutLines(documents []DocumentMap, dialects []*dialect.Dialect) (all []spec.Requirement) {
	mapped := map[string]bool{}
	for _, d := range documents {
		for _, c := range d.Clauses {
			for _, id := range c.Requirements {
				mapped[id] = true
			}
		}
	}
	for _, d := range dialects {
		for _, r := range d.Requirements {
			if !mapped[r.ID] {
				mapped[r.ID] = true
				all = append(all, r)
			}
		}
	}
	return all
}
