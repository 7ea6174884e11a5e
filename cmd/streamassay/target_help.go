package main

import (
	"slices"
	"strings"
)

// totalLimits returns a paragraph of the help of run and diff. It lists the limits on all responses
// of a server in one round and dialect; once one of them is exceeded, no more streams are
// requested. The argument server is the term for the server in the help of the command, such as "a
// target". The argument fate says what happens to incomplete scenarios, such as "listed in the
// report".
func totalLimits(server, fate string) string {
	return "In each round and dialect, no more streams are requested from " + server + ` once
  1. two or more of its streams, and more than half of them, have exceeded a limit,
  2. their total size exceeds the larger of 4 × --max-bytes and 256MiB, or
  3. their total number of events exceeds the larger of 10 × --max-events and 2000000.
` + wrapHelp("Rules 1 and 2 apply, separately, to responses that are not streams. Scenarios that this cuts short are "+
		fate+".")
}

// baseURLHelp is the paragraph of the help of run that explains what a base URL is.
const baseURLHelp = "A base URL is the URL before the dialect's paths, e.g. http://127.0.0.1:8080 (runs: if it has no path, " +
	"/api/v1/agent is added; agui: it is the URL of the endpoint itself, e.g. http://127.0.0.1:8080/agent)."

// asTarget refers the help of other commands to [baseURLHelp].
const asTarget = "base URL, as TARGET in streamassay run --help"

// untestedLists describes, in the help of --verbose, the lists of requirements that a verbose text
// report adds.
const untestedLists = "requirements that were not tested or that no test can decide"

// hiddenValues is the paragraph of the help of run and diff about the header values that the output
// hides.
var hiddenValues = "In all output REDACTED replaces the values of all headers given with flags, except values " +
	"shorter than 4 bytes and those of Accept, User-Agent and the like (docs/run.md)."

// redactedCredentials is the sentence of the help of lint, convert, proxy and mock about the
// credentials that reports and transcripts hide.
var redactedCredentials = "REDACTED replaces the values of headers and query parameters that hold credentials: those " +
	"that streamassay run --help lists, and those with names such as token, password or session, also where bodies " +
	"repeat them."

// capabilitiesText returns the paragraph of the help that explains the placeholder CAPABILITY. The
// argument flags names the flags that use the placeholder, such as "--claim and --lacks". The
// argument names lists the valid capabilities.
func capabilitiesText(flags string, names []string) string {
	text := "CAPABILITY, in " + flags + ", is "
	if i := slices.Index(names, "scripted"); i >= 0 {
		names = slices.Delete(slices.Clone(names), i, i+1)
		text += "\"scripted\" (the agent replies to the prompts \"conformance:…\" as docs/prompts.md prescribes; if " +
			"neither flag names it, streamassay sends a first prompt to find out), or "
	}
	return wrapHelp(text + "what one of these scenarios tests (streamassay list scenarios describes them): " +
		strings.Join(names, ", ") + ".")
}
