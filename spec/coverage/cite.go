package coverage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

var citationPattern = regexp.MustCompile(`^([0-9a-z_]+\.txt):([0-9,-]+)$`)

// A citedLines is a run of lines of one document that a source names.
type citedLines struct {
	file  string
	lines Lines
}

// citationsIn are what a source names as the place of its quote. A document that is
// only pointed at, within "derived: …" or "observed: …", is none.
func citationsIn(source string) (all []citedLines) {
	for part := range strings.SplitSeq(source, "; ") {
		m := citationPattern.FindStringSubmatch(part)
		if m == nil {
			continue
		}
		for text := range strings.SplitSeq(m[2], ",") {
			if lines, err := parseLines(text); err == nil {
				all = append(all, citedLines{m[1], lines})
			}
		}
	}
	return all
}

// Unmapped lists what the catalogues demand and the maps do not know: requirements
// that cite lines, of a document that has a map, where no clause names them; and those
// that point to a document which does not name them at all.
func Unmapped(documents []Document, dialects []*dialect.Dialect) (all []string) {
	for _, d := range dialects {
		for _, r := range d.Requirements {
			for _, doc := range documents {
				if strings.Contains(r.Source, doc.File) && !slices.ContainsFunc(doc.Clauses, func(c Clause) bool { return slices.Contains(c.Requirements, r.ID) }) {
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

// unmappedLines are the lines of the document that a requirement cites, and no clause among
// them names it.
func (d Document) unmappedLines(r spec.Requirement) (all []Lines) {
	for _, c := range citationsIn(r.Source) {
		if c.file == d.File && !slices.ContainsFunc(d.Clauses, func(k Clause) bool {
			return k.Lines.Overlaps(c.lines) && slices.Contains(k.Requirements, r.ID)
		}) {
			all = append(all, c.lines)
		}
	}
	return all
}

// requirementsWithoutLines are the requirements that stand for no line of any document: what was
// observed of released servers, or follows from what the others are for. Each once,
// as the first of the versions has it.
func requirementsWithoutLines(documents []Document, dialects []*dialect.Dialect) (all []spec.Requirement) {
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
