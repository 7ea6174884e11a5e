package suites

import (
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// readerValues lists the values of [readerDimension], the ways in which clients read the stream of
// the main run. The first value reads the stream once, to its end.
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

// lateDelay is the time between the start of a run and the request of a late client for the stream
// of that run.
const lateDelay = 150 * time.Millisecond

// readLate waits for [lateDelay] after the start of the main run, and then reads its stream.
func readLate(c *combinationPlayer) {
	c.Sleep(lateDelay)
	c.ReadStream("", 0)
}

// readAgain reads the whole stream of the main run, and then reads it again.
func readAgain(c *combinationPlayer) {
	c.ReadStream("", 0)
	c.ReadStream("", 0)
}

// readAfterDisconnect closes the connection after two events of the main run, and then reads the
// whole stream without a cursor.
func readAfterDisconnect(c *combinationPlayer) {
	c.ReadStream("", 2)
	c.ReadStream("", 0)
}

// readResumed reads two events of the main run, closes the connection, and resumes the stream.
// Finally, it reads the whole stream again. If one of the two events was terminal, it does not
// resume the stream, because a server need not end a stream that is resumed after the terminal
// event.
func readResumed(c *combinationPlayer) {
	c.ReadStream("", 2)
	if c.LastEvent(spec.RunEnd).Kind == "" && c.LastEvent(spec.RunError).Kind == "" {
		c.resume(0)
	}
	c.ReadStream("", 0)
}

// maxSteps is the maximum number of times that [readInSteps] resumes the stream of a run.
const maxSteps = 6

// readInSteps reads the stream of the main run in steps of one event: it closes the connection
// after each event and resumes the stream, at most [maxSteps] times. Then it reads the whole
// stream.
func readInSteps(c *combinationPlayer) {
	c.ReadStream("", 1)
	for range maxSteps {
		if len(c.resumableCursors(1)) == 0 || !c.resume(1) {
			break
		}
	}
	c.ReadStream("", 0)
}

// readByTwo reads the stream of the main run on two connections at the same time.
func readByTwo(c *combinationPlayer) {
	listen := c.BuildRequest("listen", spec.Event{})
	c.sendTogether([]spec.Request{listen, listen}, 2, nil)
}

// readBesideDisconnect reads the stream of the main run. When the first event has arrived, a second
// client requests the same stream and closes its connection after one event.
func readBesideDisconnect(c *combinationPlayer) {
	listen := c.BuildRequest("listen", spec.Event{})
	c.DuringStream(listen, 1, func() { c.send(listen, wire.StopWhen{Frames: 1}) })
}

// readBesideLate reads the stream of the main run. When two events have arrived, a second client
// requests the same stream and reads it to its end.
func readBesideLate(c *combinationPlayer) {
	listen := c.BuildRequest("listen", spec.Event{})
	c.DuringStream(listen, 2, func() { c.Send(listen) })
}
