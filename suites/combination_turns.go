package suites

import (
	"time"

	"github.com/streamassay/streamassay/spec"
)

// silence is how long the client pauses in a combination that has a pause.
const silence = 250 * time.Millisecond

// repliesBetween is the number of prompts that the client of a combination sends between the
// preceding turns and the main prompt in order to make the conversation long.
const repliesBetween = 8

// betweenValues lists the values of [betweenDimension]: what happens between the turns that precede
// the main prompt and the main prompt itself. The value "twice" repeats those turns or, if there
// are none, sends two prompts. There are only a few values, so that the dimension adds no rows to
// the covering array.
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

// needsIntruder is a partial scenario that states what is needed to request streams as another
// user: the templates, a document that says how such requests are denied, and a target that is
// configured with a second user and does not lack the capability "second-user".
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

// morePromptValues lists values of [promptDimension] in addition to those in [promptValues]:
// replies that are just too large, or have just too many deltas, for buffers of common sizes; a run
// that is cancelled; and a prompt with an uploaded image.
var morePromptValues = []dimensionValue{
	asksMain("the prompt large 257", "large", fixed("257")),
	asksMain("the prompt many 101", "many", fixed("101")),
	asksMain("the prompt many 1025", "many", fixed("1025")),
	{
		doc: "a run that is cancelled", needs: needsCancel,
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

// moreAfterValues lists values of [afterDimension] in addition to those in [afterValues]: the
// client requests something twice, after a pause, or after requests of another user that the server
// must deny.
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
