package mutation

import (
	"slices"

	"github.com/streamassay/streamassay/spec/dialect"
)

// All returns the mutants that apply to at least one of the given dialects. First come the mutants
// that are listed in the files of this package, one list per area. They are followed by the mutants
// that are generated from the documents of the dialects; only these are sorted by name. To add a
// mutant, add it to the list of its area.
func All(dialects []*dialect.Dialect) []*Mutant {
	list := slices.Concat(
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
		hiddenMutants, generatedMutants(dialects),
	)
	return slices.DeleteFunc(list, func(m *Mutant) bool { return !slices.ContainsFunc(dialects, m.AppliesTo) })
}
