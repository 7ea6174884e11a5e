package suites

import (
	"time"

	"github.com/streamassay/streamassay/spec"
)

// silence is how long the client sends nothing where a combination has a pause.
const silence = 250 * time.Millisecond

// repliesBetween is the number of replies that a combination puts before the main prompt in order
// to make the conversation long.
const repliesBetween = 8

// betweenValues lists the values of the dimension of what happens between the earlier turns and the
// main prompt. They are few, so that the dimension adds no rows to the covering array.
var betweenValues = []dimensionValue{
	{},
	{doc: "twice", needs: Scenario{Templates: promptTemplates}, apply: func(c *combinationPlayer) {
		if c.precede == nil {
			c.ask("text", c.word())
			c.ask("text", c.word())
			return
		}
		c.precede(c)
	}},
	{doc: "after a pause", apply: func(c *combinationPlayer) { c.Sleep(silence) }},
	{
		doc: "after two idle runs", needs: Scenario{Templates: promptTemplates, Capability: "idle"},
		apply: func(c *combinationPlayer) {
			c.ask("idle", "60")
			c.ask("idle", "90")
		},
	},
	{
		doc: "after eight replies", needs: Scenario{Templates: promptTemplates},
		apply: func(c *combinationPlayer) {
			for range repliesBetween {
				c.ask("text", c.word())
			}
		},
	},
	{
		doc: "after the history was read", needs: needsHistory,
		apply: func(c *combinationPlayer) { c.fetchHistory(spec.Event{}) },
	},
	{
		doc: "after denied requests of another user", needs: needsIntruder,
		apply: func(c *combinationPlayer) {
			c.ask("text", c.word())
			c.intrude()
		},
	},
}

// needsIntruder states what is needed to send requests as another user: the templates, a document
// that says how such requests are denied, and the capability "second-user".
var needsIntruder = Scenario{
	Templates: []string{"prompt", "listen"}, Denial: spec.DeniedOtherUser, Capability: "second-user",
}

// intrude requests the stream of the last run twice as another user. Checks verify that the server
// denies both requests. If the server refused the last run, intrude sends nothing.
func (c *combinationPlayer) intrude() {
	if c.accepted {
		c.sendAsEach([]spec.Principal{spec.OtherUser, spec.OtherUser}, "listen", spec.Event{})
	}
}

// morePromptValues lists further values of the dimension of main prompts: sizes and counts just
// above those of common buffers, a run that is cancelled, and an image that was uploaded.
var morePromptValues = []dimensionValue{
	asksMain("the prompt large 257", "large", fixed("257")),
	asksMain("the prompt many 101", "many", fixed("101")),
	asksMain("the prompt many 1025", "many", fixed("1025")),
	{
		doc: "a run that is cancelled", needs: Scenario{Templates: []string{"prompt", "listen", "cancel"}, Capability: "cancel"},
		apply: (*combinationPlayer).cancel,
	},
	{
		doc: "a prompt with an uploaded image", needs: Scenario{Templates: []string{"attach", "uploaded"}, Capability: "attachments"},
		apply: func(c *combinationPlayer) {
			if image, ok := c.elicit("uploaded"); ok {
				c.SendAndRead("uploaded", image)
			}
		},
	},
}

// moreAfterValues lists further values of the dimension of what the client does after the main run.
// It requests something twice, after a pause, or after denied requests of another user.
var moreAfterValues = []dimensionValue{
	{
		doc: "then the stream again twice", needs: needsListen,
		apply: func(c *combinationPlayer) {
			c.readFinished()
			c.readFinished()
		},
	},
	{
		doc: "then the history twice", needs: needsHistory,
		apply: func(c *combinationPlayer) {
			c.completeHistory()
			c.fetchHistory(spec.Event{})
		},
	},
	{
		doc: "then the prompt recall after a pause", needs: Scenario{Templates: promptTemplates, Capability: "recall"},
		apply: func(c *combinationPlayer) {
			c.Sleep(silence)
			c.ask("recall", "")
		},
	},
	{
		doc: "then denied requests of another user and the prompt recall", needs: needsIntruder,
		apply: func(c *combinationPlayer) {
			c.intrude()
			c.ask("recall", "")
		},
	},
}
