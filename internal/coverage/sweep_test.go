package coverage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// obliging matches the normative words of the documents. Words that only contain such a word (响应 is
// a response, "maxLength" a name) are excluded by their context.
var obliging = []*regexp.Regexp{
	regexp.MustCompile(`必须|必需|必填|必要|务必|不得|不能|不可|不允许|不要|禁止|切勿|避免|仅|只[有能会]|默认|最大|最多|最小|最少|至少|不超过|上限|限制|恰好|始终|总是|不会|不保证|确保|需要|建议|可选|非法`),
	regexp.MustCompile(`应[当该为由是]`),
	regexp.MustCompile(`(?i)\b(required|requires?|must|shall|should|only|never|always|defaults?|limits?|exactly|at most|at least|maximum|minimum|max|cannot|forbidden|mandatory|optional|ensure)\b`),
}

// bounding matches rows of tables and lists that define errors or limits: a status, a code or a
// bound.
var bounding = []*regexp.Regexp{
	regexp.MustCompile("^[|-] *`?([45][0-9]{2})\\b"),
	regexp.MustCompile("^[|-].*\\| *`?([45][0-9]{2})`? *\\|"),
	regexp.MustCompile("^[|-] *`([A-Z]+(?:_[A-Z]+)+)`"),
	regexp.MustCompile(`^[|-].*([≤≥] *[0-9]+)`),
}

// normativeWords returns the normative words of a line, each of them once.
func normativeWords(line string) (words []string) {
	for _, re := range slices.Concat(obliging, bounding) {
		for _, m := range re.FindAllStringSubmatch(line, -1) {
			if word := m[len(m)-1]; !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

// blank reports whether a line has no content, apart from the borders of a table.
func blank(line string) bool { return strings.Trim(line, "| \t\r") == "" }

// unmentionedWords describes each normative word in the lines of an informative clause that the
// clause does not list. If the lines contain no normative word but the clause lists one, it
// describes that. It returns nil for other clauses.
func (c Clause) unmentionedWords(lines []string) (complaints []string) {
	if c.Informative == "" {
		return nil
	}
	found := 0
	for i := c.Lines.From; i <= min(c.Lines.To, len(lines)); i++ {
		for _, word := range normativeWords(lines[i-1]) {
			found++
			if !strings.Contains(strings.ToLower(c.NormativeWord), strings.ToLower(word)) {
				complaints = append(complaints, fmt.Sprintf("is informative; does %q in line %d not oblige? %s", word, i, lines[i-1]))
			}
		}
	}
	if found == 0 && c.NormativeWord != "" {
		complaints = append(complaints, fmt.Sprintf("says although %q, and no line has an obliging word", c.NormativeWord))
	}
	return complaints
}

// TestSweep checks that normativeWords and unmentionedWords find normative words, and not text that
// only resembles them.
func TestSweep(t *testing.T) {
	for line, want := range map[string]string{
		"- threadId 必须是 UUID":                     "必须",
		"| runId 最大 128 字符 | x |":                 "最大",
		"成功响应返回 TaskAcceptedResponse":             "",
		"客户端应当忽略":                                 "应当",
		"# only a client MUST know":               "only MUST",
		"maxLength: 3":                            "",
		"- `401` 未认证":                             "401",
		"- `AGENT_INVALID_RUN_ID`":                "AGENT_INVALID_RUN_ID",
		"| payload ≤ 256KB | too large |":         "≤ 256",
		"| 404 | not found |":                     "404",
		"| not found | `404` | x |":               "404",
		"a text of 404 pages":                     "",
		`"required": ["location"]`:                "required",
		"the client is required to send an input": "required",
	} {
		if got := strings.Join(normativeWords(line), " "); got != want {
			t.Errorf("%q obliges by %q, not %q", line, got, want)
		}
	}
	lines := []string{"a title", "it must be", "||"}
	for _, c := range []struct {
		clause Clause
		want   int
	}{
		{Clause{Lines: LineRange{1, 1}, Informative: "x"}, 0},
		{Clause{Lines: LineRange{1, 2}, Informative: "x"}, 1},
		{Clause{Lines: LineRange{1, 2}, Informative: "x", NormativeWord: "must"}, 0},
		{Clause{Lines: LineRange{1, 1}, Informative: "x", NormativeWord: "must"}, 1},
		{Clause{Lines: LineRange{2, 2}, Summary: "x", Requirements: []string{"y"}}, 0},
	} {
		if got := c.clause.unmentionedWords(lines); len(got) != c.want {
			t.Errorf("%+v: %q", c.clause, got)
		}
	}
	if blank("text") || !blank("||") || !blank(" \t") {
		t.Error("blank lines are not known")
	}
}
