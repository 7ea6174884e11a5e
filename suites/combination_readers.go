package suites

import (
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// readerValues are the ways in which a client may read the stream of the main run of a combination.
var readerValues = []dimensionValue{
	{},
	{
		doc: "read late", needs: needsListen,
		apply: func(c *combinationPlayer) { c.read = readLate },
	},
	{
		doc: "read again after its end", needs: needsListen,
		apply: func(c *combinationPlayer) { c.read = readAgain },
	},
	{
		doc: "read again from the beginning after a disconnect", needs: needsListen,
		apply: func(c *combinationPlayer) { c.read = readAfterDisconnect },
	},
	{
		doc: "resumed after a disconnect", needs: needsCursor,
		apply: func(c *combinationPlayer) { c.read = readResumed },
	},
	{
		doc: "resumed after each event", needs: needsCursor,
		apply: func(c *combinationPlayer) { c.read = readInSteps },
	},
	{
		doc: "read by two clients at once", needs: needsListen, twoStreams: true,
		apply: func(c *combinationPlayer) { c.read = readByTwo },
	},
	{
		doc: "read by two clients, of which one comes later", needs: needsListen, twoStreams: true,
		apply: func(c *combinationPlayer) { c.read = readBesideLate },
	},
	{
		doc: "read by two clients, of which one disconnects", needs: needsListen, twoStreams: true,
		apply: func(c *combinationPlayer) { c.read = readBesideDisconnect },
	},
}

// lateDelay is how long a late client waits before it reads the stream of a run.
const lateDelay = 150 * time.Millisecond

func readLate(c *combinationPlayer) {
	c.Sleep(lateDelay)
	c.ReadStream("", 0)
}

func readAgain(c *combinationPlayer) {
	c.ReadStream("", 0)
	c.ReadStream("", 0)
}

func readAfterDisconnect(c *combinationPlayer) {
	c.ReadStream("", 2)
	c.ReadStream("", 0)
}

// readResumed reads two events of the main run, resumes the stream to its end, and then reads the
// whole stream. It does not resume after the terminal event, since servers may keep such a stream
// open.
func readResumed(c *combinationPlayer) {
	c.ReadStream("", 2)
	if c.LastEvent(spec.RunEnd).Kind == "" && c.LastEvent(spec.RunError).Kind == "" {
		c.resume(0)
	}
	c.ReadStream("", 0)
}

// maxSteps is the maximum number of times that a client which resumes a stream after each event
// resumes it.
const maxSteps = 6

func readInSteps(c *combinationPlayer) {
	c.ReadStream("", 1)
	for range maxSteps {
		if len(c.resumableCursors(1)) == 0 || !c.resume(1) {
			break
		}
	}
	c.ReadStream("", 0)
}

func readByTwo(c *combinationPlayer) {
	listen := c.BuildRequest("listen", spec.Event{})
	c.sendTogether([]spec.Request{listen, listen}, 2, nil)
}

func readBesideDisconnect(c *combinationPlayer) {
	listen := c.BuildRequest("listen", spec.Event{})
	c.DuringStream(listen, 1, func() { c.send(listen, wire.StopWhen{Frames: 1}) })
}

func readBesideLate(c *combinationPlayer) {
	listen := c.BuildRequest("listen", spec.Event{})
	c.DuringStream(listen, 2, func() { c.Send(listen) })
}
