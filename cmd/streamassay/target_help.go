package main

import (
	"slices"
	"strings"
)

// totalLimits returns the part of the help of the run and diff commands that says when no more
// requests are sent because responses exceeded limits. The argument whole says which responses are
// counted together, such as "of a target in one round". The argument fate says what happens to
// scenarios that are cut short, such as "not compared".
func totalLimits(whole, fate string) string {
	return wrapHelp("Once two streams (" + whole + ") have exceeded a limit and fewer have not, or all together have " +
		"more than four times --max-bytes (at least 256MiB) or twice --max-events (at least 400000), no more streams are " +
		"requested; likewise for other responses. Scenarios that this cuts short are " + fate + ".")
}

// hiddenValues is the part of the help of the run and diff commands that says which values of
// headers are hidden.
const hiddenValues = "In all output REDACTED replaces the values of all headers given with flags, except values of less " +
	"than 4 bytes and those of Accept, User-Agent and the like (docs/run.md)."

// capabilitiesText returns the paragraph of the help that explains CAPABILITY, the placeholder for
// the value of certain flags. The argument flags names these flags, as in "--claim and --lacks",
// and names lists the valid values.
func capabilitiesText(flags string, names []string) string {
	text := "CAPABILITY, in " + flags + ", is "
	if i := slices.Index(names, "scripted"); i >= 0 {
		names = slices.Delete(slices.Clone(names), i, i+1)
		text += "\"scripted\" (the agent follows docs/prompts.md; if neither flag names it, a first prompt to the target " +
			"finds out), or "
	}
	return wrapHelp(text + "what one of these scenarios tests (streamassay list scenarios describes them): " +
		strings.Join(names, ", ") + ".")
}
