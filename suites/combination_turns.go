package suites

import (
	"time"

	"github.com/streamassay/streamassay/spec"
)

// silence is the duration of the pauses in combinations.
const silence = 250 * time.Millisecond

// repliesBetween is the number of prompts that the client sends before the main prompt to test a
// long conversation.
const repliesBetween = 8

// betweenValues lists the values of [betweenDimension], the actions between the value of
// [beforeDimension] and the main prompt. The value "twice" repeats the value of beforeDimension or,
// if that is the plain value, sends two prompts. The list is short, because each value must be
// combined with all values of the other dimensions.
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

// needsIntruder is the field needs of each [dimensionValue] that calls [combinationPlayer.intrude].
// It requires two templates, a second user, and a document that describes the denial of that user's
// requests.
var needsIntruder = Scenario{
	Templates: []string{"prompt", "listen"}, Denial: spec.DeniedOtherUser, Capability: "second-user",
}

// intrude requests the stream of the last run twice as [spec.OtherUser]. Checks verify that the
// server denies both requests. intrude sends nothing if the server refused the last run.
func (c *combinationPlayer) intrude() {
	if c.accepted {
		c.sendAsEach([]spec.Principal{spec.OtherUser, spec.OtherUser}, "listen", spec.Event{})
	}
}

// morePromptValues lists the values of [promptDimension] that are not in [promptValues]: replies
// that slightly exceed common buffer sizes, a run that is cancelled, and a prompt with an image.
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

// moreAfterValues lists the values of [afterDimension] that are not in [afterValues]. In these, the
// client repeats a request, pauses, or sends requests as [spec.OtherUser], which the server must
// deny.
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
