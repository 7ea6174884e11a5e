package main

import (
	"slices"
	"strings"
)

// totalLimits returns the part of the help of the run and diff commands that states when streamassay
// sends no more requests because responses exceeded limits. The argument whole states which responses
// are counted together, as in "from a target in one round". The argument fate states what happens to
// scenarios that are cut short, as in "listed in the report".
func totalLimits(whole, fate string) string {
	return wrapHelp("No more streams are requested (" + whole + ") once two or more, and more than half, of them have " +
		"exceeded a limit, once all together have more than 4 × --max-bytes or 256MiB, whichever is larger, or once all " +
		"together have more than 2 × --max-events or 400000 events, whichever is larger. Responses that are not streams " +
		"are counted apart, by the same rule. Scenarios that this cuts short are " + fate + ".")
}

// hiddenValues is the part of the help of the run and diff commands that states which values of
// headers are hidden.
const hiddenValues = "In all output REDACTED replaces the values of all headers given with flags, except values shorter " +
	"than 4 bytes and those of Accept, User-Agent and the like (docs/run.md)."

// capabilitiesText returns the paragraph of the help that explains CAPABILITY, the placeholder for
// the value of certain flags. The argument flags is the text that names the flags, such as "--claim
// and --lacks". The argument names lists the valid values.
func capabilitiesText(flags string, names []string) string {
	text := "CAPABILITY, in " + flags + ", is "
	if i := slices.Index(names, "scripted"); i >= 0 {
		names = slices.Delete(slices.Clone(names), i, i+1)
		text += "\"scripted\" (the agent follows docs/prompts.md; if neither flag names it, streamassay sends a first " +
			"prompt to find out), or "
	}
	return wrapHelp(text + "what one of these scenarios tests (streamassay list scenarios describes them): " +
		strings.Join(names, ", ") + ".")
}
