package mutant

import "slices"

// scripted are the requirements that a scripted target answers a prompt as it is asked to.
func scripted(prompt string, families ...string) (laws []string) {
	for _, f := range families {
		laws = append(laws, f+".scripted."+prompt)
	}
	return laws
}

// answering answers a prompt, by what it matches, otherwise than it asks. The streams are
// right in themselves: nothing but the words is wrong.
func answering(prompt, reply string) string {
	return "rules:\n  - name: otherwise\n    when: {text: {matches: '^conformance:" + prompt + "'}}\n    reply: " + reply + "\n"
}

// The families whose dialects have words for most things, and those that have also words
// for messages, for contents, for calls of the client's.
var (
	everybody  = []string{"agentscope-java", "agentscope", "agkit", "runs"}
	messengers = []string{"agentscope-java", "agentscope", "runs"}
	painters   = []string{"agentscope-java", "agentscope"}
	callers    = []string{"agentscope-java", "agentscope", "agkit"}
)

// What a failure has to be.
var (
	lawsVisible = []string{"agentscope-java.err.object", "agentscope.error-reported", "agkit.error.visible", "runs.stream.error-visible"}
	lawsNoTrace = []string{"agentscope.no-stack-trace", "agkit.error.no-stack", "runs.errors.no-stack-trace"}
)

var scriptMutants = []*Mutant{
	{
		Name: "says-hello", Doc: "asked for certain words, the server says hello",
		Script: answering("text ", `[text: 'Hello, world.']`),
		Breaks: scripted("text", everybody...),
		Kills:  map[string]string{"script.text": "http.close"},
	}, {
		Name: "adds-a-mark", Doc: "asked for certain words, the server adds a mark",
		Script: answering("text (?<words>.*)$", `[text: '{{.Match.words}}!']`),
		Breaks: scripted("text", everybody...),
		Kills:  map[string]string{"script.text": "http.close"},
	}, {
		Name: "cannot-be-empty", Doc: "asked for nothing, the server says that it has nothing to say",
		Script: answering("empty", `[text: I have nothing to say.]`),
		Breaks: scripted("empty", everybody...),
		Kills:  map[string]string{"script.empty": "http.close"},
	}, {
		Name: "fails-at-nothing", Doc: "asked for nothing, the run fails",
		Script: answering("empty", `[error: nothing to do]`),
		Breaks: scripted("empty", everybody...),
		Kills:  map[string]string{"script.empty": "http.close"},
	}, {
		Name: "one-message-of-two", Doc: "asked for two messages, the server says both in one",
		Script: answering("messages", `[text: onetwo]`),
		Breaks: scripted("messages", messengers...),
		Kills:  map[string]string{"script.messages": "http.close"},
	}, {
		Name: "two-before-one", Doc: "asked for two messages, the server sends the second first",
		Script: answering("messages", `[text: two, text: one]`),
		Breaks: scripted("messages", messengers...),
		Kills:  map[string]string{"script.messages": "http.close"},
	}, {
		Name: "no-image", Doc: "asked for a text and an image, the server sends the text",
		Script: answering("contents", `[text: see]`),
		Breaks: scripted("contents", painters...),
		Kills:  map[string]string{"script.contents": "http.close"},
	}, {
		Name: "other-caption", Doc: "asked for the text see and an image, the server sends another text with the image",
		Script: answering("contents", `[message: [text: look, image: 'https://example.com/image.png']]`),
		Breaks: scripted("contents", painters...),
		Kills:  map[string]string{"script.contents": "http.close"},
	}, {
		Name: "thinks-and-says-otherwise", Doc: "asked to think and then to say certain words, the server says others",
		Script: answering("reasoning", `[reasoning: thinking, text: I have thought.]`),
		Breaks: scripted("reasoning", "agentscope"),
		Kills:  map[string]string{"script.reasoning": "http.close"},
	}, {
		Name: "thinks-in-silence", Doc: "asked to think and then to say certain words, the server only thinks",
		Script: answering("reasoning", `[reasoning: thinking]`),
		Breaks: scripted("reasoning", "agentscope"),
		Kills:  map[string]string{"script.reasoning": "http.close"},
	}, {
		Name: "does-not-think", Doc: "asked to think and then to say certain words, the server just says them",
		Script: answering("reasoning (?<words>.*)$", `[text: '{{.Match.words}}']`),
		Breaks: scripted("reasoning", "agentscope"),
		Kills:  map[string]string{"script.reasoning-apart": "http.close"},
	}, {
		Name: "thinks-of-something-else", Doc: "asked to think, the server thinks of something else",
		Script: answering("reasoning (?<words>.*)$", `[reasoning: brooding, text: '{{.Match.words}}']`),
		Breaks: scripted("reasoning", "agentscope"),
		Kills:  map[string]string{"script.reasoning-apart": "http.close"},
	}, {
		Name: "looks-up-something-else", Doc: "asked to call its tool with certain arguments, the server calls it with others",
		Script: answering("tool ", `[tool: {name: lookup, arguments: {city: London}, result: {found: true}}, text: done]`),
		Breaks: scripted("tool", everybody...),
		Kills:  map[string]string{"script.tool": "tool.call tool.start"},
	}, {
		Name: "another-tool", Doc: "asked to call its tool, the server calls another",
		Script: answering("tool (?<words>.*)$", `[tool: {name: search, arguments: {city: Paris, days: [1, 2, 3]}, result: {found: true}}, text: done]`),
		Breaks: scripted("tool", everybody...),
		Kills:  map[string]string{"script.tool": "tool.call tool.start"},
	}, {
		Name: "no-word-after-the-tool", Doc: "asked to call its tool, the server does not go on when it has the result",
		Script: answering("tool ", `[tool: {name: lookup, arguments: {city: Paris, days: [1, 2, 3]}, result: {found: true}}]`),
		Breaks: scripted("tool", everybody...),
		Kills:  map[string]string{"script.tool": "http.close"},
	}, {
		Name: "one-call-of-two", Doc: "asked for two calls, the server makes one",
		Script: answering("tools", `[tool: {name: lookup, arguments: {n: 1}, result: {found: true}}, text: done]`),
		Breaks: scripted("tools", everybody...),
		Kills:  map[string]string{"script.tools": "http.close"},
	}, {
		Name: "no-call-of-two", Doc: "asked for two calls, the server says that it made them",
		Script: answering("tools", `[text: I have looked both up.]`),
		Breaks: scripted("tools", everybody...),
		Kills:  map[string]string{"script.tools": "http.close"},
	}, {
		Name: "result-untold", Doc: "the results of the server's tools are not told",
		Fault:  "result-missing",
		Breaks: append(scripted("tool", everybody...), scripted("tools", everybody...)...),
		Kills:  map[string]string{"script.tool": "tool.call tool.start", "script.tools": "tool.call tool.start"},
		Also:   []string{"wire.matches-schema"}, // where results have a message of their own, it is an empty one
	}, {
		Name: "paints-in-red", Doc: "asked to call the client's tool with certain arguments, the server calls it with others",
		Script: answering("client-tool ", `[client-tool: {name: paint, arguments: {color: red}}]`),
		Breaks: scripted("client-tool", callers...),
		Kills:  map[string]string{"script.client-tool": "tool.call tool.start"},
	}, {
		Name: "says-what-to-paint", Doc: "asked to call the client's tool, the server says what it would call it with",
		Script: answering("client-tool ", `[text: Paint it blue.]`),
		Breaks: scripted("client-tool", callers...),
		Kills:  map[string]string{"script.client-tool": "http.close"},
	}, {
		Name: "result-unheard", Doc: "what the client's tool gave is not heard",
		Script: "rules:\n  - name: otherwise\n    when: {last: tool}\n    reply: [text: 'tool said: ']\n",
		Breaks: append(scripted("client-tool", callers...), "agkit.client-tool.continues"),
		Kills:  map[string]string{"script.client-tool-result": "http.close"},
	}, {
		Name: "result-in-other-words", Doc: "what the client's tool gave is told in other words",
		Script: "rules:\n  - name: otherwise\n    when: {last: tool}\n    reply: [text: 'It is painted.']\n",
		Breaks: append(scripted("client-tool", callers...), "agkit.client-tool.continues"),
		Kills:  map[string]string{"script.client-tool-result": "http.close"},
	}, {
		Name: "asks-something-else", Doc: "asked to interrupt itself with a certain question, the run asks another",
		Script: answering("interrupt ", `[interrupt: {question: Go on?}]`),
		Breaks: scripted("interrupt", "agkit"),
		Kills:  map[string]string{"script.interrupt": "http.close"},
	}, {
		Name: "resume-unheard", Doc: "what the client answers to an interrupt is not heard",
		Script: "rules:\n  - name: otherwise\n    when: {last: resume}\n    reply: [text: 'resumed with: null']\n",
		Breaks: append(scripted("interrupt", "agkit"), "agkit.resume.effect"),
		Kills:  map[string]string{"script.resume": "http.close"},
	}, {
		Name: "interrupts-with-nothing", Doc: "asked to interrupt itself with a certain question, the run asks none",
		Script: answering("interrupt ", `[interrupt: {}]`),
		Breaks: scripted("interrupt", "agkit"),
		Kills:  map[string]string{"script.interrupt": "http.close"},
	}, {
		Name: "resumes-in-silence", Doc: "answered after an interrupt, the server says nothing",
		Script: "rules:\n  - name: otherwise\n    when: {last: resume}\n    reply: [text: '']\n",
		Breaks: append(scripted("interrupt", "agkit"), "agkit.resume.effect"),
		Kills:  map[string]string{"script.resume": "http.close"},
	}, {
		Name: "forgets", Doc: "asked what was said before, the server never knows",
		Script: answering("recall", `[text: nothing]`),
		Breaks: append(scripted("recall", everybody...), "agkit.conv.history"),
		Kills:  map[string]string{"script.recall": "http.close"},
	}, {
		Name: "remembers-the-question", Doc: "asked what was said before that, the server repeats the question",
		Script: "rules:\n  - name: otherwise\n    when: {text: 'conformance:recall', turn: {min: 2}}\n    reply: [text: '{{.Text}}']\n",
		Breaks: append(scripted("recall", everybody...), "agkit.conv.history"),
		Kills:  map[string]string{"script.recall": "http.close"},
	}, {
		Name: "remembers-others", Doc: "asked in a new conversation what was said before, the server tells what was said in another",
		Script: answering("recall", `[text: 'conformance:text one']`),
		Breaks: append(scripted("isolated", painters...), "agkit.conv.isolated", "runs.scripted.recall"),
		Kills:  map[string]string{"script.isolated": "http.close"},
	}, {
		Name: "makes-memories-up", Doc: "asked in a new conversation what was said before, the server makes something up",
		Script: "rules:\n  - name: otherwise\n    when: {text: 'conformance:recall', turn: 1}\n    reply: [text: You said hello.]\n",
		Breaks: append(scripted("isolated", painters...), "agkit.conv.isolated", "runs.scripted.recall"),
		Kills:  map[string]string{"script.isolated": "http.close"},
	}, {
		Name: "too-slow-to-say", Doc: "asked to speak slowly, the run fails",
		Script: answering("slow 8 ", `[text: '1 2', error: too slow]`),
		Breaks: scripted("slow", everybody...),
		Kills:  map[string]string{"script.slow": "http.close"},
	}, {
		Name: "slowly-nothing", Doc: "asked to speak slowly, the server says nothing",
		Script: answering("slow 8 ", `[wait: 100ms]`),
		Breaks: scripted("slow", everybody...),
		Kills:  map[string]string{"script.slow": "http.close"},
	}, {
		Name: "too-many-to-say", Doc: "asked for many pieces, the run fails",
		Script: answering("many ", `[text: '1 2', error: too many]`),
		Breaks: scripted("many", everybody...),
		Kills:  map[string]string{"script.many": "http.close"},
	}, {
		Name: "many-times-nothing", Doc: "asked for many pieces, the server says nothing",
		Script: answering("many ", `[wait: 1ms]`),
		Breaks: scripted("many", everybody...),
		Kills:  map[string]string{"script.many": "http.close"},
	}, {
		Name: "large-is-small", Doc: "asked for a large piece, the server sends a small one",
		Script: answering("large ", `[text: this is all there is]`),
		Breaks: scripted("large", everybody...),
		Kills:  map[string]string{"script.large": "http.close"},
	}, {
		Name: "too-large-to-say", Doc: "asked for a large piece, the run fails",
		Script: answering("large ", `[error: too large]`),
		Breaks: scripted("large", everybody...),
		Kills:  map[string]string{"script.large": "http.close"},
	}, {
		Name: "wakes-up-otherwise", Doc: "asked to be silent for a while, the server says something else afterwards",
		Script: answering("idle 400", `[wait: 400ms, text: ready]`),
		Breaks: scripted("idle", everybody...),
		Kills:  map[string]string{"script.idle": "http.close"},
	}, {
		Name: "never-wakes-up", Doc: "asked to be silent for a while, the server says nothing afterwards either",
		Script: answering("idle 400", `[wait: 400ms]`),
		Breaks: scripted("idle", everybody...),
		Kills:  map[string]string{"script.idle": "http.close"},
	}, {
		Name: "fails-for-another-reason", Doc: "asked to fail with certain words, the run fails with others",
		Script: answering("error ", `[error: something went wrong]`),
		Breaks: scripted("error", everybody...),
		Kills:  map[string]string{"script.error": "run.error"},
	}, {
		Name: "talks-before-it-fails", Doc: "asked to fail before any content, the run says something first",
		Script: answering("error (?<words>.*)$", `[text: I shall try., error: '{{.Match.words}}']`),
		Breaks: scripted("error", everybody...),
		Kills:  map[string]string{"script.error": "run.error"},
	}, {
		Name: "fails-midway-for-another-reason", Doc: "asked to fail in the middle with certain words, the run fails with others",
		Script: answering("error-mid ", `[text: This is, error: something went wrong]`),
		Breaks: scripted("error-mid", everybody...),
		Kills:  map[string]string{"script.error-mid": "run.error"},
	}, {
		Name: "fails-midway-in-short", Doc: "asked to fail in the middle with certain words, the run fails with the first of them",
		Script: answering("error-mid (?<first>\\S+)", `[text: This is, error: '{{.Match.first}}']`),
		Breaks: scripted("error-mid", everybody...),
		Kills:  map[string]string{"script.error-mid": "run.error"},
	}, {
		Name: "fails-at-once", Doc: "asked to fail in the middle, the run fails before it says anything",
		Script: answering("error-mid (?<words>.*)$", `[error: '{{.Match.words}}']`),
		Breaks: scripted("error-mid", everybody...),
		Not:    []string{"agentscope-java@1.0"}, // a fast agent may lose what it said before it failed
		Kills:  map[string]string{"script.error-mid-says": "http.close"},
	}, {
		Name: "fails-after-a-silence", Doc: "asked to fail in the middle, the run says nothing for a while and fails",
		Script: answering("error-mid (?<words>.*)$", `[wait: 300ms, error: '{{.Match.words}}']`),
		Breaks: scripted("error-mid", everybody...),
		Not:    []string{"agentscope-java@1.0"}, // likewise
		Kills:  map[string]string{"script.error-mid-says": "http.close"},
	}, {
		Name: "failure-untold", Doc: "a run that fails does not say so",
		Fault:  "failure-missing",
		Breaks: slices.Concat(lawsVisible, lawsEnds),
		Kills:  map[string]string{"error.visible": "http.close", "run.ends": "http.close"},
		Also:   []string{"script.error", "script.error-mid", "cancel.run-ends", "wire.flushes"}, // it was asked to fail; nor does one say so that was canceled
	}, {
		Name: "succeeds-instead", Doc: "asked to fail, the run ends well",
		Script: answering("error", `[text: all is well]`),
		Breaks: lawsVisible,
		Kills:  map[string]string{"error.visible": "http.close"},
		Also:   []string{"script.error", "script.error-mid"}, // it was asked to fail
	}, {
		Name: "shows-its-stack", Doc: "a run that fails says where in the program",
		Script: answering("error(-mid)? (?<words>.*)$", `[text: "This is ", error: "{{.Match.words}}\n\nTraceback (most recent call last):\n  File agent.py, line 7"]`),
		Breaks: lawsNoTrace,
		Kills:  map[string]string{"error.no-stack-trace": "run.error"},
		Also:   []string{"script.error"}, // a rule for both prompts, which says something first
	}, {
		Name: "shows-its-goroutines", Doc: "a run that fails says what the program was doing",
		Script: answering("error-mid (?<words>.*)$", `[text: "This is ", error: "{{.Match.words}}\n\ngoroutine 7 [running]:\nmain.main()"]`),
		Breaks: lawsNoTrace,
		Kills:  map[string]string{"error.no-stack-trace": "run.error"},
	},
}
