package mutation

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// All returns the mutants that apply to at least one of the given dialects. First come the mutants
// that are listed in the files of this package, one list per area. They are followed by the mutants
// that are generated from the documents of the dialects; only these are sorted by name. To add a
// mutant, add it to the list of its area.
func All(dialects []*dialect.Dialect) []*Mutant {
	list := slices.Concat(listedMutants(), generatedMutants(dialects))
	return slices.DeleteFunc(list, func(m *Mutant) bool { return !slices.ContainsFunc(dialects, m.AppliesTo) })
}

// listedMutants returns the mutants that are listed in the files of this package.
func listedMutants() []*Mutant {
	return slices.Concat(
		wireMutants, lineMutants, lifecycleMutants, inTurnMutants, chunkMutants, answerMutants,
		identityMutants, messageMutants, contentMutants, toolMutants, continueMutants, scriptMutants,
		sequenceMutants, refusalFormMutants,
		echoMutants, replyHealthMutants, replyAcceptedMutants, replyHistoryMutants,
		resumeStartMutants, resumeLossMutants, resumeThreadCursorMutants, resumeContentMutants, cancelMutants,
		resumeAgainMutants, historyContentMutants, historyThreadMutants, historyDayMutants, usersMutants,
		uploadStoredMutants, uploadSignedMutants, uploadLinkMutants, uploadImageMutants, transcriptionMutants,
		uploadFormMutants,
		limitMutants, concurrencyMutants, streamEndMutants, historyOutcomeMutants, byteLimitMutants, stateMutants,
		similarThreadMutants, similarRunMutants, simultaneousMutants, liveMutants, acceptedLateMutants, requestFormMutants,
		failingPromptMutants, busyMutants, stopMutants,
		rangeMutants, payloadMutants, freshnessMutants, historyPayloadMutants, payloadAgainMutants,
		hiddenMutants,
	)
}

// isPossibleName reports whether pattern can match the name of a mutant that [All] returns for the
// given dialects. Unlike All, it generates no mutants, which takes seconds: the name of a generated
// one begins with the id of a requirement, and every glob with a special character is possible.
func isPossibleName(pattern string, dialects []*dialect.Dialect) bool {
	if strings.ContainsAny(pattern, `*?[\`) {
		return true
	}
	begins := func(r spec.Requirement) bool { return strings.HasPrefix(pattern, r.ID+".") }
	return slices.ContainsFunc(listedMutants(), func(m *Mutant) bool { return m.Name == pattern }) ||
		slices.ContainsFunc(dialects, func(d *dialect.Dialect) bool { return slices.ContainsFunc(d.Requirements, begins) })
}
