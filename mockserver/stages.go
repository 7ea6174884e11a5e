package mockserver

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/streamassay/streamassay/internal/vary"
)

// A pipelineStage is a stage of the pipeline through which a response passes. WriteFrame passes a
// frame or an SSE comment to the next stage, and returns any error from sending it. The number n is
// the index of the frame in the stream, counted from 0, or -1 for a comment.
type pipelineStage interface {
	WriteFrame(n int, frame []byte) error
}

// A varyStage is the stage that varies the encoding of frames: it replaces each frame by an
// equivalent one that conforms to the protocol.
type varyStage struct {
	stream *vary.StreamEncoder
	client *clientWriter
	next   pipelineStage
}

// WriteFrame varies the encoding of frame and passes the result to the next stage. It implements
// pipelineStage.
func (s varyStage) WriteFrame(n int, frame []byte) error {
	segments := s.stream.EncodeFrame(nil, frame)
	if s.next != s.client { // the next stage is a fault, which must receive whole frames
		return s.next.WriteFrame(n, bytes.Join(segments, nil))
	}
	for i, segment := range segments {
		if err := s.client.WriteFrame(n, segment); err != nil {
			return err
		}
		if i == len(segments)-1 && s.stream.CanJoin() {
			return nil
		}
		if err := s.client.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// A faultStageSink is the fault.StreamSink of a fault that is followed by another stage. It passes
// each write of the fault to that stage as one frame.
type faultStageSink struct {
	*clientWriter
	next       pipelineStage
	frameCount *atomic.Int64 // number of frames that the reference server has written to the stream
}

// Write passes p to the next stage as one frame. The index of that frame is the index of the last
// frame that the reference server wrote. Write returns len(p) and the error from the next stage.
func (s faultStageSink) Write(p []byte) (int, error) {
	return len(p), s.next.WriteFrame(int(s.frameCount.Load())-1, p)
}

// A frameGate is the stage that can hold a stream: it holds back the frames from a given index on.
// WriteFrame must be called by one goroutine at a time. The other methods may be called
// concurrently, even while WriteFrame waits.
type frameGate struct {
	client *clientWriter
	next   pipelineStage

	mu        sync.Mutex
	firstHeld int           // index of the first frame that is held back, or noFrame
	changed   chan struct{} // closed when firstHeld changes; nil if WriteFrame is not waiting
}

// holdFrom holds back all frames whose index, counted from 0, is at least first. If first is
// noFrame, it holds back no frames.
func (g *frameGate) holdFrom(first int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set(first)
}

// allow lets n more frames pass: it adds n to the index of the first frame that is held back. It
// returns an error if the stage holds back no frames.
func (g *frameGate) allow(n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.firstHeld == noFrame {
		return errors.New("stream is not held")
	}
	g.set(g.firstHeld + min(n, noFrame-g.firstHeld)) // without overflow
	return nil
}

// set makes first the index of the first frame that is held back. If WriteFrame is waiting, set
// makes it check the index again. The caller must hold g.mu.
func (g *frameGate) set(first int) {
	if g.firstHeld = first; g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// held returns the index of the first frame that the stage holds back, or noFrame if it holds back
// no frames.
func (g *frameGate) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.firstHeld
}

// WriteFrame waits until g does not hold back frame n, and then passes frame to the next stage.
// Before it waits, it flushes the preceding frames. It returns an error if the stream ends or the
// client leaves while it waits. An SSE comment, for which n is -1, is never held back.
func (g *frameGate) WriteFrame(n int, frame []byte) error {
	for flushed := false; ; flushed = true {
		g.mu.Lock()
		isHeld := n >= g.firstHeld
		if isHeld && g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		if !isHeld {
			return g.next.WriteFrame(n, frame)
		}
		if !flushed {
			if err := g.client.Flush(); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-g.client.ctx.Done():
			return g.client.endError()
		}
	}
}
