package suites

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/rules"
)

// A dimension is one aspect in which combinations differ from the plain conversation, such as the
// main prompt or how the stream is read. In the plain conversation, a client sends one plain text
// prompt on a new thread and reads the reply.
type dimension struct {
	values []dimensionValue // the first one is the value of the plain conversation
}

// The indexes of the dimensions, in the order in which the values of a combination are applied.
const (
	textDimension       = iota // the class of the texts in the main prompt
	jsonDimension              // the class of the JSON objects in the main prompt
	connectionDimension        // whether connections are reused
	formDimension              // the form of the requests, such as the case of field names
	beforeDimension            // what precedes the main prompt
	betweenDimension           // what happens between the preceding turns and the main prompt
	readerDimension            // how the stream of the main run is read
	promptDimension            // the main prompt, which starts the main run
	afterDimension             // what the client does after the main run
)

// A dimensionValue is one value of a dimension.
type dimensionValue struct {
	doc   string   // text for the description of combinations with this value; "" for the plain value
	needs Scenario // the features that the value requires (Templates, Kinds, Capability, Denial); see [Target.supports]
	// apply sends the requests of the value, or sets fields of c that affect the values of later
	// dimensions. If it is nil, the value needs no action.
	apply func(c *combinationPlayer)

	twoStreams bool // the target must allow a user to open two streams
	takesText  bool // the value is a prompt with a text; TEXT in doc stands for the description of the text
	takesJSON  bool // the value is a prompt with a JSON object; JSON in doc stands for the object's description
}

// dimensions returns the dimensions of combinations in the order of their indexes. It omits values
// that the target does not support.
func (t *Target) dimensions() []dimension {
	all := []dimension{
		textDimension:       {t.textValues()},
		jsonDimension:       {jsonValues()},
		connectionDimension: {connectionValues},
		formDimension:       {formValues()},
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
	name   string         // its scenario name; see [CombinationName]
	values []int          // index of the value in each dimension, in the order of the dimensions
	rng    *rand.Rand     // source of ids; not shared, so that ids do not depend on other combinations
	result ScenarioResult // the zero value until the combination has been played
}

// defaultCombinations is the number of combinations in a test run if [Target.Deep] is not set.
const defaultCombinations = 16

// MaxCombinations is the maximum number of combinations of a dialect.
const MaxCombinations = 2000

// combinations returns the combinations to play, those that t.Only and t.Skip select. It generates
// [defaultCombinations] of them or, if t.Deep is set or t.Only contains the name of a combination,
// enough to cover each possible pair of values of two dimensions, but at most [MaxCombinations].
//
// The combinations depend only on the seed, the dialect and what the target supports. The result is
// nil if the dialect cannot send prompts. It is also nil if the agent does not follow the test
// prompts (docs/prompts.md), because checks could not judge its replies.
func (t *Target) combinations() (all []*combination) {
	scenario := sequenceScenario("", nil)
	if !t.isScripted || !scenario.AppliesTo(t.Dialect) {
		return nil
	}
	some, n := len(t.Only) == 0 || len(t.plan(scenario).PlannedChecks) > 0, defaultCombinations
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

// combinationStream is the lowest number that combinations pass to [rand.NewPCG] as its second
// argument. Sequences use lower numbers, so that their random values are independent.
const combinationStream = 1 << 33

// combinationPrefix is the common prefix of the scenario names of combinations.
const combinationPrefix = "combination-"

// CombinationName returns the scenario name of combination n, counted from 1, such as
// "combination-1".
func CombinationName(n int) string { return combinationPrefix + fmt.Sprint(n) }

// IsCombination reports whether name is the scenario name of a combination, or a glob for such
// names, such as "combination-*".
func IsCombination(name string) bool { return strings.HasPrefix(name, combinationPrefix) }

// isCombinable returns a function that reports whether the values in a row can occur in one
// combination. A row contains the index of one value for each dimension in dims, or -1 for a
// dimension without a value yet. A value of [textDimension] or [jsonDimension] other than the first
// can occur only with a prompt that contains a text or a JSON object, respectively.
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

// describe returns the difference between the combination and the plain conversation: the
// descriptions of its values, joined with ", ". The argument dims is the result of
// [Target.dimensions].
func (c *combination) describe(dims []dimension) string {
	var words []string
	for i, v := range c.values {
		doc := dims[i].values[v].doc
		switch i {
		case textDimension, jsonDimension:
			continue // part of the description of the prompt
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

// maxCombinationTime is the time, from the start of the first combination, after which no further
// combination is started.
const maxCombinationTime = 40 * time.Second

// A combinationsCutError is the [ScenarioResult.IncompleteReason] if not all combinations of a
// dialect were played within [maxCombinationTime]. Its fields are the numbers of played and of
// selected combinations.
type combinationsCutError struct{ played, of int }

func (e combinationsCutError) Error() string {
	return fmt.Sprintf("the first %d of %d combinations were played, because none is started after %d s; "+
		"this one and those after it were not", e.played, e.of, int(maxCombinationTime.Seconds()))
}

// playCombinations plays the given combinations and returns parts with their results appended. The
// argument parts contains the results of all scenarios played before. After each combination,
// playCombinations calls played with the name of the combination, possibly concurrently.
//
// If not all combinations can be started within [maxCombinationTime], one result with a
// [combinationsCutError] stands for the remaining ones. If a combination has findings that are not
// in earlier results, playCombinations tries to find a simpler combination with the same findings.
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
	known := map[findingKey]bool{}
	for i := range parts {
		t.recordFindings(known, &parts[i])
	}
	tries, until := maxShrinkTries, time.Now().Add(maxShrinkTime)
	for _, c := range all {
		if !hasCheck(known, rules.DeltasArriveIncrementally) {
			t.retryLateDeltas(ctx, &c.result, func(uint64) ScenarioResult { return t.playCombination(ctx, dims, c) })
		}
		if fresh := t.newFindings(known, &c.result); len(fresh) > 0 && tries > 0 && time.Now().Before(until) {
			tries -= t.simplify(ctx, dims, c, fresh)
		}
		t.recordFindings(known, &c.result)
		parts = append(parts, c.result)
	}
	return parts
}

// simplify looks for a combination that also has the findings in fresh, but differs from the plain
// conversation in fewer dimensions than c. If it finds one, it replaces *c, including the result,
// with that combination. The argument dims is the result of [Target.dimensions]. simplify returns
// the number of combinations that it played.
func (t *Target) simplify(ctx context.Context, dims []dimension, c *combination, fresh []findingKey) (tried int) {
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
		if !slices.ContainsFunc(fresh, func(f findingKey) bool { return !slices.Contains(got, f) }) {
			*c = simpler
		}
	}
	return tried
}

// playCombination plays combination c as one conversation and returns the result. The argument dims
// is the result of [Target.dimensions]. To save memory, playCombination trims a result without
// findings; see [trimResult].
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
	if len(t.findingIDs(&part)) == 0 && !part.Trimmed { // keep only what reports show of so many conversations
		if t.BeforeTrim != nil {
			t.BeforeTrim(part)
		}
		trimResult(&part)
	}
	return part
}
