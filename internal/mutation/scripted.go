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
	replyMutant("text-is-hello", "sends a hello text when the prompt asks for another text",
		"text ", `[text: 'Hello, world.']`, "script.text", "message.delta"),
	replyMutant("text-with-extra-mark", "adds an exclamation mark to the text that the prompt asks for",
		"text (?<words>.*)$", `[text: '{{.Match.words}}!']`, "script.text", "message.delta"),
	replyMutant("empty-answer-with-text", "sends a text when the prompt asks for an empty answer",
		"empty", `[text: I have nothing to say.]`, "script.empty", "message.delta"),
	replyMutant("empty-answer-fails", "fails the run when the prompt asks for an empty answer",
		"empty", `[error: nothing to do]`, "script.empty", "run.error"),
	replyMutant("two-messages-as-one", "sends one message with both texts when the prompt asks for two messages",
		"messages", `[text: onetwo]`, "script.messages", "http.close"),
	replyMutant("two-messages-swapped", "sends the second message first when the prompt asks for two messages",
		"messages", `[text: two, text: one]`, "script.messages", "message.delta"),
	replyMutant("image-missing", "sends only the text when the prompt asks for a text and an image",
		"contents", `[text: see]`, "script.contents", "http.close"),
	replyMutant("image-with-other-text", "sends another text with the image when the prompt asks for the text see and an image",
		"contents", `[message: [text: look, image: 'https://example.com/image.png']]`,
		"script.contents", "message.delta"),
	replyMutant("reasoning-with-other-text", "sends another text when the prompt asks for reasoning and a text",
		"reasoning", `[reasoning: thinking, text: I have thought.]`, "script.reasoning", "message.delta"),
	replyMutant("reasoning-without-text", "sends only the reasoning when the prompt asks for reasoning and a text",
		"reasoning", `[reasoning: thinking]`, "script.reasoning", "http.close"),
	replyMutant("reasoning-missing", "sends only the text when the prompt asks for reasoning and a text",
		"reasoning (?<words>.*)$", `[text: '{{.Match.words}}']`, "script.reasoning-apart", "http.close"),
	replyMutant("reasoning-differs", "sends other reasoning than the prompt asks for",
		"reasoning (?<words>.*)$", `[reasoning: brooding, text: '{{.Match.words}}']`,
		"script.reasoning-apart", "reasoning.delta"),
	replyMutant("tool-call-other-arguments", "calls the server's tool with other arguments than the prompt asks for",
		"tool ", `[tool: {name: lookup, arguments: {city: London}, result: {found: true}}, text: done]`,
		"script.tool", "tool.call tool.delta"),
	replyMutant("tool-call-other-tool", "calls another tool when the prompt asks for a call of the server's tool",
		"tool (?<words>.*)$", `[tool: {name: search, arguments: {city: Paris, days: [1, 2, 3]}, result: {found: true}}, text: done]`,
		"script.tool", "tool.call tool.start"),
	replyMutant("text-missing-after-tool-result", "sends nothing after the tool result when the prompt asks for a call of the server's tool",
		"tool ", `[tool: {name: lookup, arguments: {city: Paris, days: [1, 2, 3]}, result: {found: true}}]`,
		"script.tool", "http.close"),
	{
		Name:      "text-only-before-tool-call",
		Doc:       "sends a text before the call but none after the result when the prompt asks for a call of the server's tool",
		Script:    replyScript("tool ", `[text: Let me see, tool: {name: lookup, arguments: {city: Paris, days: [1, 2, 3]}, result: {found: true}}]`),
		KilledBy:  map[string]string{"script.tool": "http.close"},
		OrderOnly: true, // a text before the call may be the one that follows the result
	},
	replyMutant("second-tool-call-missing", "makes one tool call when the prompt asks for two",
		"tools", `[tool: {name: lookup, arguments: {n: 1}, result: {found: true}}, text: done]`,
		"script.tools", "http.close"),
	replyMutant("tool-calls-as-text", "sends a text about the tool calls when the prompt asks for two tool calls",
		"tools", `[text: I have looked both up.]`, "script.tools", "http.close"),
	{
		Name: "tool-results-missing", Doc: "omits the results of the server's tools",
		Fault:    "result-missing",
		KilledBy: map[string]string{"script.tool": "http.close", "script.tools": "http.close"},
		// Without its result, a call looks like one that is left to the client. In dialects where a
		// result is a message of its own, that message is empty.
		AlsoFails: []string{"tool.client-call-is-offered", "wire.matches-schema"},
	}, {
		Name: "client-call-other-arguments", Doc: "calls the client tool with other arguments than the prompt asks for",
		Script:   replyScript("client-tool ", `[client-tool: {name: paint, arguments: {color: red}}]`),
		KilledBy: map[string]string{"script.client-tool": "tool.call tool.delta"},
		// The script calls the tool even if the client offers another one.
		AlsoFails: []string{"tool.client-call-is-offered"},
	},
	replyMutant("client-call-as-text", "sends the arguments as text when the prompt asks for a call of a client tool",
		"client-tool ", `[text: Paint it blue.]`, "script.client-tool", "http.close"),
	{
		Name: "client-tool-result-ignored", Doc: "ignores the result of a client tool",
		Script:    "rules:\n  - name: otherwise\n    when: {last: tool}\n    reply: [text: 'tool said: ']\n",
		KilledBy:  map[string]string{"script.client-tool-result": "http.close"},
		AlsoFails: []string{"script.client-tool-results"}, // several results are ignored as well
	}, {
		Name: "client-tool-result-reworded", Doc: "sends another text when it must repeat the result of a client tool",
		Script:    "rules:\n  - name: otherwise\n    when: {last: tool}\n    reply: [text: 'It is painted.']\n",
		KilledBy:  map[string]string{"script.client-tool-result": "message.delta"},
		AlsoFails: []string{"script.client-tool-results"}, // several results are repeated in other words as well
	},
	replyMutant("interrupt-other-question", "interrupts with another question than the prompt asks for",
		"interrupt ", `[interrupt: {question: Go on?}]`, "script.interrupt", "interrupt"),
	{
		Name: "resume-answer-ignored", Doc: "ignores the client's answer to an interrupt",
		Script:   "rules:\n  - name: otherwise\n    when: {last: resume}\n    reply: [text: 'resumed with: null']\n",
		KilledBy: map[string]string{"script.resume": "message.delta"},
	},
	replyMutant("interrupt-payload-empty", "interrupts with an empty payload when the prompt asks for a question",
		"interrupt ", `[interrupt: {}]`, "script.interrupt", "interrupt"),
	{
		Name: "resumed-run-without-text", Doc: "sends no text in a resumed run",
		Script:   "rules:\n  - name: otherwise\n    when: {last: resume}\n    reply: [text: '']\n",
		KilledBy: map[string]string{"script.resume": "http.close"},
	},
	replyMutant("recall-finds-nothing", "replies to the recall prompt as if it were the first message of the thread",
		"recall", `[text: nothing]`, "script.recall", "message.delta"),
	{
		Name: "recall-repeats-prompt", Doc: "repeats the current prompt when it asks for the previous message",
		Script:   "rules:\n  - name: otherwise\n    when: {text: 'conformance:recall', turn: {min: 2}}\n    reply: [text: '{{.Text}}']\n",
		KilledBy: map[string]string{"script.recall": "message.delta"},
	}, {
		Name: "recall-crosses-threads", Doc: "sends a message of another thread when the prompt in a new thread asks for the previous message",
		Script:   replyScript("recall", `[text: 'conformance:text one']`),
		KilledBy: map[string]string{"script.isolated": "message.delta"},
		// Where the previous message was another one, the answer is wrong in the same conversation,
		// too.
		AlsoFails: []string{"script.recall"},
	}, {
		Name: "recall-invents-message", Doc: "invents a message when the prompt in a new thread asks for the previous message",
		Script:   "rules:\n  - name: otherwise\n    when: {text: 'conformance:recall', turn: 1}\n    reply: [text: You said hello.]\n",
		KilledBy: map[string]string{"script.isolated": "message.delta"},
	},
	replyMutant("slow-deltas-fail", "fails the run when the prompt asks for slow text deltas",
		"slow 8 ", `[text: '1 2', error: too slow]`, "script.slow", "run.error"),
	replyMutant("slow-deltas-missing", "sends no text when the prompt asks for slow text deltas",
		"slow 8 ", `[wait: 100ms]`, "script.slow", "http.close"),
	replyMutant("many-deltas-fail", "fails the run when the prompt asks for many text deltas",
		"many ", `[text: '1 2', error: too many]`, "script.many", "run.error"),
	replyMutant("many-deltas-missing", "sends no text when the prompt asks for many text deltas",
		"many ", `[wait: 1ms]`, "script.many", "http.close"),
	replyMutant("large-delta-small", "sends a small text delta when the prompt asks for a large one",
		"large ", `[text: this is all there is]`, "script.large", "http.close"),
	replyMutant("large-delta-fails", "fails the run when the prompt asks for a large text delta",
		"large ", `[error: too large]`, "script.large", "run.error"),
	replyMutant("idle-then-other-text", "sends another text after the idle period when the prompt asks for one",
		"idle 400", `[wait: 400ms, text: ready]`, "script.idle", "message.delta"),
	replyMutant("idle-then-no-text", "sends no text after the idle period when the prompt asks for one",
		"idle 400", `[wait: 400ms]`, "script.idle", "http.close"),
	replyMutant("error-other-message", "fails the run with another error message than the prompt asks for",
		"error ", `[error: something went wrong]`, "script.error", "run.error"),
	replyMutant("error-after-text", "sends a text first when the prompt asks for a failure before any content",
		"error (?<words>.*)$", `[text: I shall try., error: '{{.Match.words}}']`, "script.error", "message.delta"),
	replyMutant("mid-run-error-other-message", "fails the run with another error message when the prompt asks for a failure in the middle of the run",
		"error-mid ", `[text: This is, error: something went wrong]`, "script.error-mid", "run.error"),
	replyMutant("mid-run-error-cut", "cuts the error message at the first space when the prompt asks for a failure in the middle of the run",
		"error-mid (?<first>\\S+)", `[text: This is, error: '{{.Match.first}}']`, "script.error-mid", "run.error"),
	replyMutant("mid-run-error-before-text", "fails the run before any text when the prompt asks for a failure in the middle of the run",
		"error-mid (?<words>.*)$", `[error: '{{.Match.words}}']`, "script.error-mid-says", "run.error"),
	replyMutant("mid-run-error-after-pause", "waits and then fails the run without any text when the prompt asks for a failure in the middle of the run",
		"error-mid (?<words>.*)$", `[wait: 300ms, error: '{{.Match.words}}']`, "script.error-mid-says", "run.error"),
	{
		Name: "failure-not-reported", Doc: "does not report the failure of a failed run",
		Fault:     "failure-missing",
		KilledBy:  map[string]string{"error.visible": "http.close", "run.ends": "http.close"},
		AlsoFails: []string{"script.error", "script.error-mid", "cancel.run-ends", "wire.flushes", "run.outlives-others"}, // the prompt asked for a failure; the end of cancelled runs is missing, too
	}, {
		Name: "completes-instead-of-failing", Doc: "completes the run when the prompt asks for a failure",
		Script:    replyScript("error", `[text: all is well]`),
		KilledBy:  map[string]string{"error.visible": "http.close"},
		AlsoFails: []string{"script.error", "script.error-mid"}, // the prompt asked for a failure
	}, {
		Name: "error-with-stack-trace", Doc: "includes a stack trace in the error message of a failed run",
		Script:    replyScript("error(-mid)? (?<words>.*)$", `[text: "This is ", error: "{{.Match.words}}\n\nTraceback (most recent call last):\n  File agent.py, line 7"]`),
		KilledBy:  map[string]string{"error.no-stack-trace": "run.error"},
		AlsoFails: []string{"script.error"}, // one rule of the script handles both prompts, and it sends text before the error
	},
	replyMutant("error-with-goroutine-dump", "includes a goroutine dump in the error message of a failed run",
		"error-mid (?<words>.*)$", `[text: "This is ", error: "{{.Match.words}}\n\ngoroutine 7 [running]:\nmain.main()"]`,
		"error.no-stack-trace", "run.error"),
}
