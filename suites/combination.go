package suites

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// A dimension is one respect in which combinations differ from the plain conversation, in which a
// client sends one plain text prompt on a new thread and reads the reply.
type dimension struct {
	values []dimensionValue // the first one is that of the plain conversation
}

// The indexes of the dimensions, in the order in which their values apply.
const (
	textDimension = iota
	jsonDimension
	formDimension
	connectionDimension
	beforeDimension
	betweenDimension
	readerDimension
	promptDimension
	afterDimension
)

// A dimensionValue is one value of a dimension.
type dimensionValue struct {
	doc   string   // description; "" if it need not be mentioned
	needs Scenario // what the dialect and the target must have, as for a scenario
	apply func(c *combinationPlayer)

	twoStreams bool // a user must be allowed two open streams
	takesText  bool // a prompt with a place for a text, which is TEXT in doc
	takesJSON  bool // a prompt with a place for a JSON object, which is JSON in doc
}

// dimensions returns the dimensions of combinations, each with the values that the target supports.
func (t *Target) dimensions() []dimension {
	all := []dimension{
		textDimension:       {t.textValues()},
		jsonDimension:       {jsonValues()},
		formDimension:       {formValues()},
		connectionDimension: {connectionValues},
		beforeDimension:     {beforeValues},
		betweenDimension:    {betweenValues},
		readerDimension:     {readerValues},
		promptDimension:     {slices.Concat(promptValues, morePromptValues)},
		afterDimension:      {slices.Concat(afterValues, moreAfterValues)},
	}
	for i := range all {
		all[i].values = slices.DeleteFunc(slices.Clone(all[i].values), func(v dimensionValue) bool {
			return !t.supports(v.needs) || v.twoStreams && t.StreamLimit == 1
		})
	}
	return all
}

// A combination is a conversation that is generated from one value of each dimension.
type combination struct {
	name   string
	values []int      // indexes into the values of the dimensions
	rng    *rand.Rand // of its ids; its own, so that it does not depend on other combinations
	result ScenarioResult
}

// defaultCombinations is the number of combinations that a run plays unless Target.Deep is set.
const defaultCombinations = 16

// MaxCombinations is the maximum number of combinations of a dialect.
const MaxCombinations = 2000

// combinations returns the combinations that t.Only and t.Skip select: of all of them, in which each
// pair of values of two dimensions occurs, if t.Deep is set or t.Only names combinations, and
// otherwise of the first [defaultCombinations]. They depend only on the seed, the dialect and the
// target's capabilities. The combinations are not yet played. If the target is not scripted, the
// result is nil, because its replies could not be judged.
func (t *Target) combinations() (all []*combination) {
	scenario := sequenceScenario("", nil)
	if !t.isScripted || !scenario.AppliesTo(t.Dialect) {
		return nil
	}
	some, n := len(t.Only) == 0 || len(t.plan(scenario).Obligations) > 0, defaultCombinations
	switch {
	case t.Deep || slices.ContainsFunc(t.Only, IsCombination):
		n = MaxCombinations
	case !some:
		return nil
	}
	dims := t.dimensions()
	sizes := make([]int, len(dims))
	for i, d := range dims {
		sizes[i] = len(d.values)
	}
	rng := rand.New(rand.NewPCG(t.Seed, combinationStream))
	for i, row := range coveringArray(n, sizes, isCombinable(dims), rng) {
		if name := CombinationName(i + 1); !matchesAny(t.Skip, name) && (some || matchesAny(t.Only, name)) {
			ids := rand.New(rand.NewPCG(t.idSeed(), combinationStream+uint64(i)))
			all = append(all, &combination{name: name, values: row, rng: ids})
		}
	}
	return all
}

// combinationStream is the first of the random streams that combinations use.
const combinationStream = 1 << 33

// combinationPrefix is the beginning of the scenario names of combinations.
const combinationPrefix = "combination-"

// CombinationName returns the scenario name of combination n, counted from 1: "combination-1".
func CombinationName(n int) string { return combinationPrefix + fmt.Sprint(n) }

// IsCombination reports whether a scenario of the given name is a combination.
func IsCombination(name string) bool { return strings.HasPrefix(name, combinationPrefix) }

// isCombinable returns a function that reports whether the values of a row can occur together: a
// text or JSON value other than the plain one only with a prompt that has a place for it.
func isCombinable(dims []dimension) func(row []int) bool {
	prompts := dims[promptDimension].values
	isPossible := func(row []int, prompt dimensionValue) bool {
		return (row[textDimension] <= 0 || prompt.takesText) && (row[jsonDimension] <= 0 || prompt.takesJSON)
	}
	return func(row []int) bool {
		if row[promptDimension] >= 0 {
			return isPossible(row, prompts[row[promptDimension]])
		}
		return slices.ContainsFunc(prompts, func(v dimensionValue) bool { return isPossible(row, v) })
	}
}

// describe returns what distinguishes a combination from the plain conversation.
func (c *combination) describe(dims []dimension) string {
	var words []string
	for i, v := range c.values {
		doc := dims[i].values[v].doc
		switch i {
		case textDimension, jsonDimension:
			continue // in the words of the prompt
		case promptDimension:
			text := dims[textDimension].values[c.values[textDimension]].doc
			object := dims[jsonDimension].values[c.values[jsonDimension]].doc
			doc = strings.NewReplacer("TEXT", text, "JSON", object).Replace(doc)
		}
		if doc != "" {
			words = append(words, doc)
		}
	}
	return strings.Join(words, ", ")
}

// maxCombinationTime is the time after which no more combinations are started.
const maxCombinationTime = 40 * time.Second

// A combinationsCutError is the reason why not all combinations of a dialect were played.
type combinationsCutError struct{ played, of int }

func (e combinationsCutError) Error() string {
	return fmt.Sprintf("the first %d of %d combinations were played, because none is started after %d s; "+
		"this one and those after it were not", e.played, e.of, int(maxCombinationTime.Seconds()))
}

// playCombinations plays the combinations and returns parts with their results appended. It calls
// played after each of them. If there is no time for all of them, one more result says so, under
// the name of the first that was not played. If a combination has findings that no earlier result
// has, playCombinations replaces it with a simpler one that has the same findings.
func (t *Target) playCombinations(
	ctx context.Context, all []*combination, parts []ScenarioResult, played func(name string),
) []ScenarioResult {
	dims := t.dimensions()
	limit := make(chan struct{}, t.sequenceConcurrency())
	var wait sync.WaitGroup
	began := time.Now()
	for i, c := range all {
		limit <- struct{}{}
		if time.Since(began) > maxCombinationTime {
			why := combinationsCutError{played: i, of: len(all)}
			left := ScenarioResult{Scenario: sequenceScenario(c.name, nil), Dialect: t.Dialect, IncompleteReason: why}
			all, parts = all[:i], append(parts, left)
			break
		}
		wait.Go(func() {
			defer func() { <-limit }()
			c.result = t.playCombination(ctx, dims, c)
			played(c.name)
		})
	}
	wait.Wait()
	known := map[findingID]bool{}
	for i := range parts {
		t.recordFindings(known, &parts[i])
	}
	tries, until := maxShrinkTries, time.Now().Add(maxShrinkTime)
	for _, c := range all {
		if fresh := t.newFindings(known, &c.result); len(fresh) > 0 && tries > 0 && time.Now().Before(until) {
			tries -= t.simplify(ctx, dims, c, fresh)
		}
		t.recordFindings(known, &c.result)
		parts = append(parts, c.result)
	}
	return parts
}

// simplify replaces a combination with one that has fewer deviations from the plain conversation
// and still all findings in fresh, together with the result of playing it. It returns how many
// combinations it played.
func (t *Target) simplify(ctx context.Context, dims []dimension, c *combination, fresh []findingID) (tried int) {
	for i := range c.values {
		if c.values[i] == 0 || ctx.Err() != nil {
			continue
		}
		simpler := combination{name: c.name, values: slices.Clone(c.values), rng: c.rng}
		if simpler.values[i] = 0; !isCombinable(dims)(simpler.values) { // a prompt without a text
			simpler.values[textDimension], simpler.values[jsonDimension] = 0, 0
		}
		tried++
		simpler.result = t.playCombination(ctx, dims, &simpler)
		got := t.findingIDs(&simpler.result)
		if !slices.ContainsFunc(fresh, func(f findingID) bool { return !slices.Contains(got, f) }) {
			*c = simpler
		}
	}
	return tried
}

// playCombination plays a combination as one conversation, with new ids, and returns the result.
func (t *Target) playCombination(ctx context.Context, dims []dimension, c *combination) ScenarioResult {
	s := Scenario{Name: c.name, Doc: c.describe(dims), Capability: "text", Templates: promptTemplates}
	part := ScenarioResult{Scenario: s, Dialect: t.Dialect}
	conv, err := t.newConversation(ctx, c.rng.Uint64())
	if err != nil {
		part.Err = err
		return part
	}
	conv.concurrent = true
	p := &combinationPlayer{sequencePlayer: newSequencePlayer(conv), name: strings.TrimPrefix(c.name, combinationPrefix)}
	for i, v := range c.values {
		if apply := dims[i].values[v].apply; apply != nil {
			if i == beforeDimension {
				p.precede = apply
			}
			apply(p)
		}
	}
	part = t.finishConversation(conv, part)
	if len(t.findingIDs(&part)) == 0 && !part.Trimmed { // of many conversations, keep what reports show
		if t.BeforeTrim != nil {
			t.BeforeTrim(part)
		}
		trimResult(&part)
	}
	return part
}
