package mutation

// replyScript returns a script, in YAML, for [Mutant.Script]. It makes the agent give a wrong reply
// to certain test prompts: the stream is valid, but does not have the content that the prompt asks
// for.
//
// The argument prompt is a regular expression for the part of the prompts after "conformance:". It
// must match from the beginning of that part, and must not contain a single quote. The argument
// reply is the wrong reply, a YAML list of steps on one line, such as "[text: one, text: two]".
func replyScript(prompt, reply string) string {
	return "rules:\n  - name: otherwise\n    when: {text: {matches: '^conformance:" + prompt + "'}}\n    reply: " + reply + "\n"
}

// replyMutant returns a mutant whose agent gives a wrong reply to certain test prompts. The
// arguments name and doc are the fields Name and Doc of the mutant. The arguments prompt and reply,
// which determine the prompts and the wrong reply, are those of replyScript. Only the given check
// must find the mutant; locations is the value for this check in [Mutant.KilledBy].
func replyMutant(name, doc, prompt, reply, check, locations string) *Mutant {
	return &Mutant{
		Name: name, Doc: doc, Script: replyScript(prompt, reply), KilledBy: map[string]string{check: locations},
	}
}

// scriptMutants are servers whose agent does not do what a test prompt asks for, or reveals a stack
// trace in the error of a failed run.
var scriptMutants = []*Mutant{
	replyMutant("says-hello", "asked for certain words, the server says hello",
		"text ", `[text: 'Hello, world.']`, "script.text", "message.delta"),
	replyMutant("adds-a-mark", "asked for certain words, the server adds a mark",
		"text (?<words>.*)$", `[text: '{{.Match.words}}!']`, "script.text", "message.delta"),
	replyMutant("cannot-be-empty", "asked for an empty answer, the server sends a text",
		"empty", `[text: I have nothing to say.]`, "script.empty", "message.delta"),
	replyMutant("fails-at-nothing", "asked for an empty answer, the run fails",
		"empty", `[error: nothing to do]`, "script.empty", "run.error"),
	replyMutant("one-message-of-two", "asked for two messages, the server sends one with both texts",
		"messages", `[text: onetwo]`, "script.messages", "http.close"),
	replyMutant("two-before-one", "asked for two messages, the server sends the second first",
		"messages", `[text: two, text: one]`, "script.messages", "message.delta"),
	replyMutant("no-image", "asked for a text and an image, the server sends the text",
		"contents", `[text: see]`, "script.contents", "http.close"),
	replyMutant("other-caption", "asked for the text see and an image, the server sends another text with the image",
		"contents", `[message: [text: look, image: 'https://example.com/image.png']]`,
		"script.contents", "message.delta"),
	replyMutant("thinks-and-says-otherwise", "asked for reasoning and a text, the server sends another text",
		"reasoning", `[reasoning: thinking, text: I have thought.]`, "script.reasoning", "message.delta"),
	replyMutant("thinks-in-silence", "asked for reasoning and a text, the server sends only the reasoning",
		"reasoning", `[reasoning: thinking]`, "script.reasoning", "http.close"),
	replyMutant("does-not-think", "asked for reasoning and a text, the server sends only the text",
		"reasoning (?<words>.*)$", `[text: '{{.Match.words}}']`, "script.reasoning-apart", "http.close"),
	replyMutant("thinks-of-something-else", "asked for reasoning, the server sends other reasoning",
		"reasoning (?<words>.*)$", `[reasoning: brooding, text: '{{.Match.words}}']`,
		"script.reasoning-apart", "reasoning.delta"),
	replyMutant("looks-up-something-else", "asked to call its tool with certain arguments, the server calls it with others",
		"tool ", `[tool: {name: lookup, arguments: {city: London}, result: {found: true}}, text: done]`,
		"script.tool", "tool.call tool.delta"),
	replyMutant("another-tool", "asked to call its tool, the server calls another",
		"tool (?<words>.*)$", `[tool: {name: search, arguments: {city: Paris, days: [1, 2, 3]}, result: {found: true}}, text: done]`,
		"script.tool", "tool.call tool.start"),
	replyMutant("no-word-after-the-tool", "asked to call its tool, the server sends nothing after the result",
		"tool ", `[tool: {name: lookup, arguments: {city: Paris, days: [1, 2, 3]}, result: {found: true}}]`,
		"script.tool", "http.close"),
	{
		Name:      "speaks-only-before-the-tool",
		Doc:       "asked to call its tool, the server sends a text before the call, but none after the result",
		Script:    replyScript("tool ", `[text: Let me see, tool: {name: lookup, arguments: {city: Paris, days: [1, 2, 3]}, result: {found: true}}]`),
		KilledBy:  map[string]string{"script.tool": "http.close"},
		OrderOnly: true, // a text before the call may be the one that follows the result
	},
	replyMutant("one-call-of-two", "asked for two calls, the server makes one",
		"tools", `[tool: {name: lookup, arguments: {n: 1}, result: {found: true}}, text: done]`,
		"script.tools", "http.close"),
	replyMutant("no-call-of-two", "asked for two tool calls, the server sends a text about them",
		"tools", `[text: I have looked both up.]`, "script.tools", "http.close"),
	{
		Name: "result-untold", Doc: "the results of the server's tools are missing",
		Fault:    "result-missing",
		KilledBy: map[string]string{"script.tool": "http.close", "script.tools": "http.close"},
		// Without its result, a call looks like one that is left to the client. In dialects where a
		// result is a message of its own, that message is empty.
		AlsoFails: []string{"tool.client-call-is-offered", "wire.matches-schema"},
	}, {
		Name: "paints-in-red", Doc: "asked to call the client's tool with certain arguments, the server calls it with others",
		Script:   replyScript("client-tool ", `[client-tool: {name: paint, arguments: {color: red}}]`),
		KilledBy: map[string]string{"script.client-tool": "tool.call tool.delta"},
		// The script calls the tool even if the client offers another one.
		AlsoFails: []string{"tool.client-call-is-offered"},
	},
	replyMutant("says-what-to-paint", "asked to call the client's tool, the server sends the arguments as text",
		"client-tool ", `[text: Paint it blue.]`, "script.client-tool", "http.close"),
	{
		Name: "result-unheard", Doc: "the result of the client's tool is ignored",
		Script:    "rules:\n  - name: otherwise\n    when: {last: tool}\n    reply: [text: 'tool said: ']\n",
		KilledBy:  map[string]string{"script.client-tool-result": "http.close"},
		AlsoFails: []string{"script.client-tool-results"}, // several results are ignored as well
	}, {
		Name: "result-in-other-words", Doc: "the result of the client's tool is repeated in other words",
		Script:    "rules:\n  - name: otherwise\n    when: {last: tool}\n    reply: [text: 'It is painted.']\n",
		KilledBy:  map[string]string{"script.client-tool-result": "message.delta"},
		AlsoFails: []string{"script.client-tool-results"}, // several results are repeated in other words as well
	},
	replyMutant("asks-something-else", "asked to interrupt with a certain question, the run asks another",
		"interrupt ", `[interrupt: {question: Go on?}]`, "script.interrupt", "interrupt"),
	{
		Name: "resume-unheard", Doc: "the client's answer to an interrupt is ignored",
		Script:   "rules:\n  - name: otherwise\n    when: {last: resume}\n    reply: [text: 'resumed with: null']\n",
		KilledBy: map[string]string{"script.resume": "message.delta"},
	},
	replyMutant("interrupts-with-nothing", "asked to interrupt with a certain question, the run does not interrupt",
		"interrupt ", `[interrupt: {}]`, "script.interrupt", "interrupt"),
	{
		Name: "resumes-in-silence", Doc: "a resumed run sends no text",
		Script:   "rules:\n  - name: otherwise\n    when: {last: resume}\n    reply: [text: '']\n",
		KilledBy: map[string]string{"script.resume": "http.close"},
	},
	replyMutant("forgets", "asked for the previous message, the server never knows it",
		"recall", `[text: nothing]`, "script.recall", "message.delta"),
	{
		Name: "remembers-the-question", Doc: "asked for the previous message, the server repeats the request",
		Script:   "rules:\n  - name: otherwise\n    when: {text: 'conformance:recall', turn: {min: 2}}\n    reply: [text: '{{.Text}}']\n",
		KilledBy: map[string]string{"script.recall": "message.delta"},
	}, {
		Name: "remembers-others", Doc: "asked in a new conversation for the previous message, the server returns one of another conversation",
		Script:   replyScript("recall", `[text: 'conformance:text one']`),
		KilledBy: map[string]string{"script.isolated": "message.delta"},
		// Where the previous message was another one, the answer is wrong in the same conversation,
		// too.
		AlsoFails: []string{"script.recall"},
	}, {
		Name: "makes-memories-up", Doc: "asked in a new conversation for the previous message, the server invents one",
		Script:   "rules:\n  - name: otherwise\n    when: {text: 'conformance:recall', turn: 1}\n    reply: [text: You said hello.]\n",
		KilledBy: map[string]string{"script.isolated": "message.delta"},
	},
	replyMutant("too-slow-to-say", "asked for slow deltas, the run fails",
		"slow 8 ", `[text: '1 2', error: too slow]`, "script.slow", "run.error"),
	replyMutant("slowly-nothing", "asked for slow deltas, the server sends no text",
		"slow 8 ", `[wait: 100ms]`, "script.slow", "http.close"),
	replyMutant("too-many-to-say", "asked for many deltas, the run fails",
		"many ", `[text: '1 2', error: too many]`, "script.many", "run.error"),
	replyMutant("many-times-nothing", "asked for many deltas, the server sends no text",
		"many ", `[wait: 1ms]`, "script.many", "http.close"),
	replyMutant("large-is-small", "asked for a large delta, the server sends a small one",
		"large ", `[text: this is all there is]`, "script.large", "http.close"),
	replyMutant("too-large-to-say", "asked for a large delta, the run fails",
		"large ", `[error: too large]`, "script.large", "run.error"),
	replyMutant("wakes-up-otherwise", "asked to be silent for a while, the server sends another text afterwards",
		"idle 400", `[wait: 400ms, text: ready]`, "script.idle", "message.delta"),
	replyMutant("never-wakes-up", "asked to be silent for a while, the server sends nothing afterwards either",
		"idle 400", `[wait: 400ms]`, "script.idle", "http.close"),
	replyMutant("fails-for-another-reason", "asked to fail with certain words, the run fails with others",
		"error ", `[error: something went wrong]`, "script.error", "run.error"),
	replyMutant("talks-before-it-fails", "asked to fail before any content, the run sends a text first",
		"error (?<words>.*)$", `[text: I shall try., error: '{{.Match.words}}']`, "script.error", "message.delta"),
	replyMutant("fails-midway-for-another-reason", "asked to fail in the middle with certain words, the run fails with others",
		"error-mid ", `[text: This is, error: something went wrong]`, "script.error-mid", "run.error"),
	replyMutant("fails-midway-in-short", "asked to fail in the middle with certain words, the run fails with the first of them",
		"error-mid (?<first>\\S+)", `[text: This is, error: '{{.Match.first}}']`, "script.error-mid", "run.error"),
	replyMutant("fails-at-once", "asked to fail in the middle, the run fails before any text",
		"error-mid (?<words>.*)$", `[error: '{{.Match.words}}']`, "script.error-mid-says", "run.error"),
	replyMutant("fails-after-a-silence", "asked to fail in the middle, the run waits without any text and fails",
		"error-mid (?<words>.*)$", `[wait: 300ms, error: '{{.Match.words}}']`, "script.error-mid-says", "run.error"),
	{
		Name: "failure-untold", Doc: "a failed run does not report its failure",
		Fault:     "failure-missing",
		KilledBy:  map[string]string{"error.visible": "http.close", "run.ends": "http.close"},
		AlsoFails: []string{"script.error", "script.error-mid", "cancel.run-ends", "wire.flushes", "run.outlives-others"}, // the prompt asked for a failure; the end of cancelled runs is missing, too
	}, {
		Name: "succeeds-instead", Doc: "asked to fail, the run completes",
		Script:    replyScript("error", `[text: all is well]`),
		KilledBy:  map[string]string{"error.visible": "http.close"},
		AlsoFails: []string{"script.error", "script.error-mid"}, // the prompt asked for a failure
	}, {
		Name: "shows-its-stack", Doc: "the error of a failed run has a stack trace",
		Script:    replyScript("error(-mid)? (?<words>.*)$", `[text: "This is ", error: "{{.Match.words}}\n\nTraceback (most recent call last):\n  File agent.py, line 7"]`),
		KilledBy:  map[string]string{"error.no-stack-trace": "run.error"},
		AlsoFails: []string{"script.error"}, // one rule of the script handles both prompts, and it sends text before the error
	},
	replyMutant("shows-its-goroutines", "the error of a failed run has a goroutine dump",
		"error-mid (?<words>.*)$", `[text: "This is ", error: "{{.Match.words}}\n\ngoroutine 7 [running]:\nmain.main()"]`,
		"error.no-stack-trace", "run.error"),
}
