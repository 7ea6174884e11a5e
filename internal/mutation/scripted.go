package mutation

// replyScript returns a script for the mock, in YAML, that replaces the reply to certain test
// prompts with a wrong one. It applies to prompts that match the regular expression formed by
// "^conformance:" and the argument prompt, which must not contain a single quote. The argument
// reply is the new reply, a YAML list of steps on one line. The resulting streams are valid; only
// their content is not what the prompt asks for.
func replyScript(prompt, reply string) string {
	return "rules:\n  - name: otherwise\n    when: {text: {matches: '^conformance:" + prompt + "'}}\n    reply: " + reply + "\n"
}

// scriptMutants are servers whose agent does not do what a test prompt asks for, or reveals a stack
// trace in the error of a failed run.
var scriptMutants = []*Mutant{
	{
		Name: "says-hello", Doc: "asked for certain words, the server says hello",
		Script:   replyScript("text ", `[text: 'Hello, world.']`),
		KilledBy: map[string]string{"script.text": "message.delta"},
	}, {
		Name: "adds-a-mark", Doc: "asked for certain words, the server adds a mark",
		Script:   replyScript("text (?<words>.*)$", `[text: '{{.Match.words}}!']`),
		KilledBy: map[string]string{"script.text": "message.delta"},
	}, {
		Name: "cannot-be-empty", Doc: "asked for an empty answer, the server sends a text",
		Script:   replyScript("empty", `[text: I have nothing to say.]`),
		KilledBy: map[string]string{"script.empty": "message.delta"},
	}, {
		Name: "fails-at-nothing", Doc: "asked for an empty answer, the run fails",
		Script:   replyScript("empty", `[error: nothing to do]`),
		KilledBy: map[string]string{"script.empty": "run.error"},
	}, {
		Name: "one-message-of-two", Doc: "asked for two messages, the server sends one with both texts",
		Script:   replyScript("messages", `[text: onetwo]`),
		KilledBy: map[string]string{"script.messages": "http.close"},
	}, {
		Name: "two-before-one", Doc: "asked for two messages, the server sends the second first",
		Script:   replyScript("messages", `[text: two, text: one]`),
		KilledBy: map[string]string{"script.messages": "message.delta"},
	}, {
		Name: "no-image", Doc: "asked for a text and an image, the server sends the text",
		Script:   replyScript("contents", `[text: see]`),
		KilledBy: map[string]string{"script.contents": "http.close"},
	}, {
		Name: "other-caption", Doc: "asked for the text see and an image, the server sends another text with the image",
		Script:   replyScript("contents", `[message: [text: look, image: 'https://example.com/image.png']]`),
		KilledBy: map[string]string{"script.contents": "message.delta"},
	}, {
		Name: "thinks-and-says-otherwise", Doc: "asked for reasoning and a text, the server sends another text",
		Script:   replyScript("reasoning", `[reasoning: thinking, text: I have thought.]`),
		KilledBy: map[string]string{"script.reasoning": "message.delta"},
	}, {
		Name: "thinks-in-silence", Doc: "asked for reasoning and a text, the server sends only the reasoning",
		Script:   replyScript("reasoning", `[reasoning: thinking]`),
		KilledBy: map[string]string{"script.reasoning": "http.close"},
	}, {
		Name: "does-not-think", Doc: "asked for reasoning and a text, the server sends only the text",
		Script:   replyScript("reasoning (?<words>.*)$", `[text: '{{.Match.words}}']`),
		KilledBy: map[string]string{"script.reasoning-apart": "http.close"},
	}, {
		Name: "thinks-of-something-else", Doc: "asked for reasoning, the server sends other reasoning",
		Script:   replyScript("reasoning (?<words>.*)$", `[reasoning: brooding, text: '{{.Match.words}}']`),
		KilledBy: map[string]string{"script.reasoning-apart": "reasoning.delta"},
	}, {
		Name: "looks-up-something-else", Doc: "asked to call its tool with certain arguments, the server calls it with others",
		Script:   replyScript("tool ", `[tool: {name: lookup, arguments: {city: London}, result: {found: true}}, text: done]`),
		KilledBy: map[string]string{"script.tool": "tool.call tool.delta"},
	}, {
		Name: "another-tool", Doc: "asked to call its tool, the server calls another",
		Script:   replyScript("tool (?<words>.*)$", `[tool: {name: search, arguments: {city: Paris, days: [1, 2, 3]}, result: {found: true}}, text: done]`),
		KilledBy: map[string]string{"script.tool": "tool.call tool.start"},
	}, {
		Name: "no-word-after-the-tool", Doc: "asked to call its tool, the server sends nothing after the result",
		Script:   replyScript("tool ", `[tool: {name: lookup, arguments: {city: Paris, days: [1, 2, 3]}, result: {found: true}}]`),
		KilledBy: map[string]string{"script.tool": "http.close"},
	}, {
		Name: "one-call-of-two", Doc: "asked for two calls, the server makes one",
		Script:   replyScript("tools", `[tool: {name: lookup, arguments: {n: 1}, result: {found: true}}, text: done]`),
		KilledBy: map[string]string{"script.tools": "http.close"},
	}, {
		Name: "no-call-of-two", Doc: "asked for two tool calls, the server sends a text about them",
		Script:   replyScript("tools", `[text: I have looked both up.]`),
		KilledBy: map[string]string{"script.tools": "http.close"},
	}, {
		Name: "result-untold", Doc: "the results of the server's tools are missing",
		Fault:    "result-missing",
		KilledBy: map[string]string{"script.tool": "http.close", "script.tools": "http.close"},
		// Without its result, a call looks like one that is left to the client. In dialects where a result
		// is a message of its own, that message is empty.
		AlsoFails: []string{"tool.client-call-is-offered", "wire.matches-schema"},
	}, {
		Name: "paints-in-red", Doc: "asked to call the client's tool with certain arguments, the server calls it with others",
		Script:   replyScript("client-tool ", `[client-tool: {name: paint, arguments: {color: red}}]`),
		KilledBy: map[string]string{"script.client-tool": "tool.call tool.delta"},
		// The script calls the tool even if the client offers another one.
		AlsoFails: []string{"tool.client-call-is-offered"},
	}, {
		Name: "says-what-to-paint", Doc: "asked to call the client's tool, the server sends the arguments as text",
		Script:   replyScript("client-tool ", `[text: Paint it blue.]`),
		KilledBy: map[string]string{"script.client-tool": "http.close"},
	}, {
		Name: "result-unheard", Doc: "the result of the client's tool is ignored",
		Script:    "rules:\n  - name: otherwise\n    when: {last: tool}\n    reply: [text: 'tool said: ']\n",
		KilledBy:  map[string]string{"script.client-tool-result": "http.close"},
		AlsoFails: []string{"script.client-tool-results"}, // several results are ignored as well
	}, {
		Name: "result-in-other-words", Doc: "the result of the client's tool is repeated in other words",
		Script:    "rules:\n  - name: otherwise\n    when: {last: tool}\n    reply: [text: 'It is painted.']\n",
		KilledBy:  map[string]string{"script.client-tool-result": "message.delta"},
		AlsoFails: []string{"script.client-tool-results"}, // several results are repeated in other words as well
	}, {
		Name: "asks-something-else", Doc: "asked to interrupt with a certain question, the run asks another",
		Script:   replyScript("interrupt ", `[interrupt: {question: Go on?}]`),
		KilledBy: map[string]string{"script.interrupt": "interrupt"},
	}, {
		Name: "resume-unheard", Doc: "the client's answer to an interrupt is ignored",
		Script:   "rules:\n  - name: otherwise\n    when: {last: resume}\n    reply: [text: 'resumed with: null']\n",
		KilledBy: map[string]string{"script.resume": "message.delta"},
	}, {
		Name: "interrupts-with-nothing", Doc: "asked to interrupt with a certain question, the run does not interrupt",
		Script:   replyScript("interrupt ", `[interrupt: {}]`),
		KilledBy: map[string]string{"script.interrupt": "interrupt"},
	}, {
		Name: "resumes-in-silence", Doc: "a resumed run sends no text",
		Script:   "rules:\n  - name: otherwise\n    when: {last: resume}\n    reply: [text: '']\n",
		KilledBy: map[string]string{"script.resume": "http.close"},
	}, {
		Name: "forgets", Doc: "asked for the previous message, the server never knows it",
		Script:   replyScript("recall", `[text: nothing]`),
		KilledBy: map[string]string{"script.recall": "message.delta"},
	}, {
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
	}, {
		Name: "too-slow-to-say", Doc: "asked for slow deltas, the run fails",
		Script:   replyScript("slow 8 ", `[text: '1 2', error: too slow]`),
		KilledBy: map[string]string{"script.slow": "run.error"},
	}, {
		Name: "slowly-nothing", Doc: "asked for slow deltas, the server sends no text",
		Script:   replyScript("slow 8 ", `[wait: 100ms]`),
		KilledBy: map[string]string{"script.slow": "http.close"},
	}, {
		Name: "too-many-to-say", Doc: "asked for many deltas, the run fails",
		Script:   replyScript("many ", `[text: '1 2', error: too many]`),
		KilledBy: map[string]string{"script.many": "run.error"},
	}, {
		Name: "many-times-nothing", Doc: "asked for many deltas, the server sends no text",
		Script:   replyScript("many ", `[wait: 1ms]`),
		KilledBy: map[string]string{"script.many": "http.close"},
	}, {
		Name: "large-is-small", Doc: "asked for a large delta, the server sends a small one",
		Script:   replyScript("large ", `[text: this is all there is]`),
		KilledBy: map[string]string{"script.large": "http.close"},
	}, {
		Name: "too-large-to-say", Doc: "asked for a large delta, the run fails",
		Script:   replyScript("large ", `[error: too large]`),
		KilledBy: map[string]string{"script.large": "run.error"},
	}, {
		Name: "wakes-up-otherwise", Doc: "asked to be silent for a while, the server sends another text afterwards",
		Script:   replyScript("idle 400", `[wait: 400ms, text: ready]`),
		KilledBy: map[string]string{"script.idle": "message.delta"},
	}, {
		Name: "never-wakes-up", Doc: "asked to be silent for a while, the server sends nothing afterwards either",
		Script:   replyScript("idle 400", `[wait: 400ms]`),
		KilledBy: map[string]string{"script.idle": "http.close"},
	}, {
		Name: "fails-for-another-reason", Doc: "asked to fail with certain words, the run fails with others",
		Script:   replyScript("error ", `[error: something went wrong]`),
		KilledBy: map[string]string{"script.error": "run.error"},
	}, {
		Name: "talks-before-it-fails", Doc: "asked to fail before any content, the run sends a text first",
		Script:   replyScript("error (?<words>.*)$", `[text: I shall try., error: '{{.Match.words}}']`),
		KilledBy: map[string]string{"script.error": "message.delta"},
	}, {
		Name: "fails-midway-for-another-reason", Doc: "asked to fail in the middle with certain words, the run fails with others",
		Script:   replyScript("error-mid ", `[text: This is, error: something went wrong]`),
		KilledBy: map[string]string{"script.error-mid": "run.error"},
	}, {
		Name: "fails-midway-in-short", Doc: "asked to fail in the middle with certain words, the run fails with the first of them",
		Script:   replyScript("error-mid (?<first>\\S+)", `[text: This is, error: '{{.Match.first}}']`),
		KilledBy: map[string]string{"script.error-mid": "run.error"},
	}, {
		Name: "fails-at-once", Doc: "asked to fail in the middle, the run fails before any text",
		Script:   replyScript("error-mid (?<words>.*)$", `[error: '{{.Match.words}}']`),
		KilledBy: map[string]string{"script.error-mid-says": "run.error"},
	}, {
		Name: "fails-after-a-silence", Doc: "asked to fail in the middle, the run waits without any text and fails",
		Script:   replyScript("error-mid (?<words>.*)$", `[wait: 300ms, error: '{{.Match.words}}']`),
		KilledBy: map[string]string{"script.error-mid-says": "run.error"},
	}, {
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
	}, {
		Name: "shows-its-goroutines", Doc: "the error of a failed run has a goroutine dump",
		Script:   replyScript("error-mid (?<words>.*)$", `[text: "This is ", error: "{{.Match.words}}\n\ngoroutine 7 [running]:\nmain.main()"]`),
		KilledBy: map[string]string{"error.no-stack-trace": "run.error"},
	},
}
