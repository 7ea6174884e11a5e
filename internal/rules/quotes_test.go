package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

const (
	minQuote = 12 // characters, below which a quote cannot express a requirement

	// The length of a rendering, divided by that of its quote, must be between minRatio and
	// maxRatio: otherwise something was left out or added. A Chinese character counts as
	// wideRune characters.
	wideRune           = 3.0
	minRatio, maxRatio = 0.5, 2.0

	// elision marks an omission in a quote.
	elision = " … "

	maxShared = 2 // requirements of one dialect that may have the same quote
)

// sharedQuotes maps each quote that more than maxShared requirements of a dialect have to the
// reason why no other quote fits.
var sharedQuotes = map[string]string{}

// TestQuotes checks that quotes are verbatim: the parts of a quote occur, in order, in the lines
// that the source of the requirement cites. The protocol documents are not part of the project. The
// test is skipped if they are missing.
func TestQuotes(t *testing.T) {
	dir := os.Getenv("SEEDS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "seeds")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("DID NOT RUN: the protocol documents are missing; set $SEEDS to their folder")
	}
	n := 0
	for d, r := range requirements(t) {
		if !r.Quoted() {
			continue
		}
		n++
		cited := ""
		for source := range strings.SplitSeq(r.Source, "; ") {
			text, err := linesOf(dir, source)
			if err != nil {
				t.Errorf("%s: %s: %v", d.Name, r.ID, err)
			}
			cited += text + gap
		}
		if part, ok := findQuote(r.Quote, cited); !ok {
			t.Errorf("%s: %s quotes %q, which is not in %s", d.Name, r.ID, part, r.Source)
		}
	}
	if n < 600 {
		t.Errorf("only %d quotes were checked", n)
	}
}

// TestQuotesAreReadable checks that quotes are long enough, that quotes in another language
// have an English rendering, and that requirements without a quote are sentences.
func TestQuotesAreReadable(t *testing.T) {
	n, renderings := 0, map[string]string{} // quote → English
	for d, r := range requirements(t) {
		n++
		for _, flaw := range flaws(r) {
			t.Errorf("%s: %s %s", d.Name, r.ID, flaw)
		}
		if other, ok := renderings[r.Quote]; ok && other != r.English {
			t.Errorf("%s: %s renders %q as %q, elsewhere it is %q", d.Name, r.ID, r.Quote, r.English, other)
		}
		renderings[r.Quote] = r.English
	}
	if n < 900 {
		t.Errorf("only %d requirements were read", n)
	}
}

// TestQuotesAreSpecific checks that at most maxShared requirements of a dialect have the same
// quote: a quote that more of them have does not show which one is violated.
func TestQuotesAreSpecific(t *testing.T) {
	shared := map[string][]string{} // dialect and quote → ids
	for d, r := range requirements(t) {
		if r.Quoted() {
			key := d.Name + "\x00" + r.Quote
			shared[key] = append(shared[key], r.ID)
		}
	}
	excused := map[string]bool{}
	for key, ids := range shared {
		name, quote, _ := strings.Cut(key, "\x00")
		if len(ids) <= maxShared {
			continue
		}
		excused[quote] = true
		if sharedQuotes[quote] == "" {
			t.Errorf("%s: %d requirements have the quote %q: %s", name, len(ids), quote, strings.Join(ids, ", "))
		}
	}
	for quote := range sharedQuotes {
		if !excused[quote] {
			t.Errorf("%q is in sharedQuotes, but not shared by more than %d requirements", quote, maxShared)
		}
	}
}

// requirements returns an iterator over all requirements of all dialects, each with its dialect.
func requirements(t *testing.T) func(yield func(*dialect.Dialect, spec.Requirement) bool) {
	t.Helper()
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(*dialect.Dialect, spec.Requirement) bool) {
		for _, d := range all {
			for _, r := range d.Catalogue() {
				if !yield(d, r) {
					return
				}
			}
		}
	}
}

// flaws returns descriptions of the defects in the texts of a requirement, or nil if there are
// none.
func flaws(r spec.Requirement) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if utf8.RuneCountInString(r.Quote) < minQuote {
		say("has the quote %q, which is too short", r.Quote)
	}
	if r.Quote != strings.TrimSpace(r.Quote) || r.English != strings.TrimSpace(r.English) {
		say("begins or ends with a space: %q, %q", r.Quote, r.English)
	}
	if !r.Quoted() {
		if foreign(r.Quote) || r.English != "" {
			say("is not quoted; expected an English sentence and no rendering, got %q, %q", r.Quote, r.English)
		}
		if !sentence.MatchString(r.Quote) {
			say("is not quoted, and %q is not a sentence", r.Quote)
		}
		if r.Convention() && !strings.Contains(r.Quote, strings.Replace(r.Source, "docs/prompts.md: ", "`conformance:", 1)) {
			say("does not name its prompt; expected a sentence such as %q", "Asked `conformance:text WORDS`, the server answers …")
		}
		return all
	}
	switch {
	case !foreign(r.Quote) && r.English != "":
		say("has an English quote, and a rendering of it: %q", r.English)
	case foreign(r.Quote) && r.English == "":
		say("has no English rendering of %q", r.Quote)
	case foreign(r.English):
		say("has a rendering that is not English: %q", r.English)
	case r.English != "":
		if x := float64(utf8.RuneCountInString(r.English)) / width(r.Quote); x < minRatio || x > maxRatio {
			say("has a rendering that is %.2f times as long as the quote: %q for %q", x, r.English, r.Quote)
		}
		for _, name := range names.FindAllString(r.Quote, -1) {
			if !strings.Contains(r.English, name) {
				say("has a rendering that lacks %s: %q", name, r.English)
			}
		}
		if strings.Count(r.English, elision) != strings.Count(r.Quote, elision) {
			say("leaves out other parts in the rendering than in the quote: %q, %q", r.English, r.Quote)
		}
	}
	return all
}

var (
	// sentence matches a requirement in this project's own words.
	sentence = regexp.MustCompile("^[A-Z`].{20,}[.]$")

	// names matches what a rendering must not translate: code, numbers and names in capitals.
	names = regexp.MustCompile("`[^`]+`|[0-9][0-9,.]*[0-9]|[0-9]|[A-Z][A-Z_-]+")
)

// foreign reports whether a text has Chinese characters or punctuation.
func foreign(s string) bool { return strings.ContainsFunc(s, cjk) }

func cjk(r rune) bool {
	return unicode.Is(unicode.Han, r) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef
}

// width returns the length of a text in characters, where each Chinese character counts as wideRune
// characters.
func width(s string) float64 {
	w := 0.0
	for _, r := range s {
		if cjk(r) {
			w += wideRune
		} else {
			w++
		}
	}
	return w
}

// findQuote reports whether the parts of a quote occur in a text, one after the other. If not, part
// is the first part that is missing; otherwise it is "".
func findQuote(quote, text string) (part string, ok bool) {
	text = plain(text)
	for part := range strings.SplitSeq(quote, elision) {
		_, after, found := strings.Cut(text, plain(part))
		if !found || plain(part) == "" {
			return part, false
		}
		text = after
	}
	return "", true
}

// plain returns s with each run of white space replaced by one space.
func plain(s string) string { return strings.Join(strings.Fields(s), " ") }

var citation = regexp.MustCompile(`^([0-9a-z_]+\.(?:txt|md)):([0-9,-]+)$`)

// gap is inserted between cited lines that are not adjacent, so that no part of a quote matches
// across them.
const gap = " \x00 "

// linesOf returns the text of the lines that a source cites, read from the documents in dir. It
// returns "" if the source cites no lines. It returns an error if the document cannot be read or
// does not have the lines.
func linesOf(dir, source string) (string, error) {
	m := citation.FindStringSubmatch(source)
	if m == nil {
		return "", nil
	}
	if strings.HasSuffix(m[1], ".md") { // a fact sheet about a protocol
		dir = filepath.Join(dir, "..", "protocols")
	}
	data, err := os.ReadFile(filepath.Join(dir, m[1]))
	if err != nil {
		return "", err
	}
	return cut(strings.Split(string(data), "\n"), m[2])
}

// cut returns the lines that a list such as "3,5-7" names; the first line is 1. It leaves out lines
// that are empty or have only the borders of a table. It returns an error if the list is not
// ascending or names lines that do not exist.
func cut(lines []string, list string) (string, error) {
	text, last := "", 0
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, err := strconv.Atoi(from)
		b, bad := strconv.Atoi(to)
		if err != nil || bad != nil || a <= last || b < a || b > len(lines) {
			return "", fmt.Errorf("%q is not an ascending list of lines of a document with %d", list, len(lines))
		}
		if last > 0 && slices.ContainsFunc(lines[last:a-1], written) {
			text += gap
		}
		for _, line := range slices.DeleteFunc(slices.Clone(lines[a-1:b]), func(s string) bool { return !written(s) }) {
			text += line + "\n"
		}
		last = b
	}
	return text, nil
}

// written reports whether a line has text, apart from the borders of a table.
func written(line string) bool { return strings.Trim(line, "| \t\r") != "" }

// TestQuoteFlaws checks flaws, findQuote and cut, the functions on which the tests of quotes rely.
func TestQuoteFlaws(t *testing.T) {
	const file = "002_a.txt:1"
	for _, c := range []struct{ quote, english, source, want string }{
		{"- `422` 请求结构校验失败,请重试", "- `422` the structure of the request fails validation, please retry", file, ""},
		{"the server accepts", "", file, ""},
		{"The server answers a valid request.", "", "derived: it must", ""},
		{"必填", "is required", file, "too short"},
		{"", "", file, "too short"},
		{"服务端不会返回其他事件的内容", "", file, "no English rendering"},
		{"服务端不会返回其他事件的内容", "服务端 returns no content of other events", file, "not English"},
		{"服务端不会返回其他事件的内容", "It returns none", file, "times as long"},
		{"服务端不会返回其他事件的内容", strings.Repeat("The server returns no content. ", 4) + "x", file, "times as long"},
		{"返回 `422` 给不可识别的请求", "returns 422 to requests that cannot be recognized", file, "lacks `422`"},
		{"最大 10,000 字符的用户文本", "a user's text of at most 1,000 characters", file, "lacks 10,000"},
		{"目标收到 RUN_ERROR 后连接终止", "the connection ends once the target received the error", file, "lacks RUN_ERROR"},
		{"请求取消 … 指定的那一个运行", "requests that the specified run be cancelled", file, "leaves out"},
		{"the server accepts", "the server accepts", file, "a rendering of it"},
		{" the server accepts", "", file, "a space"},
		{"服务端不会返回其他事件的内容", "The server returns no others.", "derived: it must", "no rendering"},
		{"a fragment that demands nothing", "", "derived: it must", "not a sentence"},
		{"Asked `conformance:many N`, the server answers.", "", "docs/prompts.md: many", ""},
		{"The server answers with N deltas.", "", "docs/prompts.md: many", "name its prompt"},
	} {
		got := strings.Join(flaws(spec.Requirement{Quote: c.quote, English: c.english, Source: c.source}), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q, %q: %q, want %q", c.quote, c.english, got, c.want)
		}
	}
	page := []string{"interface X {", "|", "||", "id: string;", "", "role: any;", "}"}
	for _, c := range []struct {
		quote, lines string
		ok           bool
	}{
		{"interface X { id: string;", "1-4", true},
		{"interface X { id: string;", "1,4", true},
		{"interface X { role: any;", "1,6", false},
		{"interface X { role: any;", "1-6", false},
		{"interface X { … role: any;", "1,6", true},
		{"interface X { … role: any;", "1-6", true},
		{"role: any; … interface X {", "1-6", false},
		{"id: string; … id: string;", "1-6", false},
		{"interface X { … ", "1-6", false},
		{"id: number;", "4", false},
	} {
		text, err := cut(page, c.lines)
		if _, ok := findQuote(c.quote, text); ok != c.ok || err != nil {
			t.Errorf("%q in lines %s: got %v, %v", c.quote, c.lines, ok, err)
		}
	}
	for _, list := range []string{"", "0", "8", "3-2", "4,1", "1-2,2", "x", "1-x"} {
		if _, err := cut(page, list); err == nil {
			t.Errorf("%q is accepted as a list of lines", list)
		}
	}
}
