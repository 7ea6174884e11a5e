package main

import (
	"slices"
	"strings"
)

// totalLimits returns a paragraph of the help of run and diff. It describes when streamassay sends
// no more requests because the responses exceeded limits, one by one or all together. The argument
// whole names the responses that are counted together, as in "from a target in one round". The
// argument fate describes what happens to scenarios that are cut short, as in "listed in the
// report".
func totalLimits(whole, fate string) string {
	return wrapHelp("No more streams are requested (" + whole + ") once two or more, and more than half, of them have " +
		"exceeded a limit, once all together have more than 4 × --max-bytes or 256MiB, whichever is larger, or once all " +
		"together have more than 3 × --max-events or 600000 events, whichever is larger. Responses that are not streams " +
		"are counted apart, by the same rule. Scenarios that this cuts short are " + fate + ".")
}

// hiddenValues is the paragraph of the help of run and diff about the header values that the output
// hides.
const hiddenValues = "In all output REDACTED replaces the values of all headers given with flags, except values shorter " +
	"than 4 bytes and those of Accept, User-Agent and the like (docs/run.md)."

// capabilitiesText returns the paragraph of the help that explains the placeholder CAPABILITY. The
// argument flags names the flags that use the placeholder, such as "--claim and --lacks". The
// argument names lists the valid capabilities.
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
