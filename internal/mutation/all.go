// Package mutation proves that the checks can fail. A mutant is a correct server with one defect that
// violates one clause of a protocol document. The suite runs against it, and its results are
// compared with what the clause requires: the requirement must fail by a check that serves it, at
// the expected place, and nothing else may fail.
package mutation

import "slices"

// All lists all mutants, area by area. To add a mutant, add it to the list of its area.
var All = slices.Concat(
	wireMutants, lifecycleMutants, messageMutants, contentMutants, toolMutants, scriptMutants, sequenceMutants,
	echoMutants, schemaMutants,
	replyMutants, refuseMutants, resumeMutants, historyMutants, usersMutants, uploadMutants, limitMutants,
	concurrencyMutants,
)
