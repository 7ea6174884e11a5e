package mutant

import "slices"

// All are the mutants. To add one: a value in the file of its area.
var All = slices.Concat(
	wireMutants, lifecycleMutants, messageMutants, contentMutants, toolMutants, scriptMutants, sequenceMutants, echoMutants, schemaMutants,
	replyMutants, refuseMutants, resumeMutants, historyMutants, usersMutants, uploadMutants, limitMutants, concurrencyMutants,
)
