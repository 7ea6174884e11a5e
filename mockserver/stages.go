package mockserver

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/streamassay/streamassay/internal/vary"
)

// A frameWriter is a stage of the pipeline through which a response passes. WriteFrame passes on a
// frame or a comment and returns any error from sending it. For a frame, n is its index in the
// stream, starting at 0; for a comment, n is -1.
type frameWriter interface {
	WriteFrame(n int, frame []byte) error
}

// A varyStage is the frame writer that varies the encoding of frames: it replaces the encoding of
// each frame with a different one that the protocol allows.
type varyStage struct {
	stream *vary.StreamEncoder
	client *clientWriter
	next   frameWriter
}

// WriteFrame varies the encoding of frame and passes the result on with n, the index of the frame
// in the stream or -1 for a comment. If the next stage is the client, WriteFrame sends the segments
// of the new encoding one by one. Otherwise it joins them, because a fault receives whole frames.
// It returns the first error from the next stage.
func (s varyStage) WriteFrame(n int, frame []byte) error {
	segments := s.stream.EncodeFrame(nil, frame)
	if s.next != s.client {
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

// A nextStageWriter is the writer to which a fault writes. It passes each write to the next stage
// as one frame.
type nextStageWriter struct {
	*clientWriter
	next       frameWriter
	frameCount *atomic.Int64 // frames of the stream that the server has written so far
}

// Write passes p to the next stage as one frame, with the number of the latest frame of the stream.
// It always returns len(p), even with an error; the error is that of the next stage.
func (s nextStageWriter) Write(p []byte) (int, error) {
	return len(p), s.next.WriteFrame(int(s.frameCount.Load())-1, p)
}

// A holdStage is the frame writer that holds back the frames of a stream from a given frame number
// on, until they are released. WriteFrame must not be called concurrently with itself. The other
// methods may be called at any time, even while WriteFrame waits.
type holdStage struct {
	client *clientWriter
	next   frameWriter

	mu        sync.Mutex
	firstHeld int           // number of the first frame that waits, or noFrame
	changed   chan struct{} // closed when firstHeld changes; nil if no frame waits
}

// holdFrom holds all frames from frame number first on, counted from 0, and lets the frames before
// it pass. If first is noFrame, all frames pass.
func (g *holdStage) holdFrom(first int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set(first)
}

// allow lets n more frames pass. It returns an error if the stage holds back no frames.
func (g *holdStage) allow(n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.firstHeld == noFrame {
		return errors.New("stream is not held")
	}
	g.set(g.firstHeld + n)
	return nil
}

// set makes the stage hold back the frames from number first on, or none if first is noFrame. If
// WriteFrame is waiting, set wakes it. The caller must hold g.mu.
func (g *holdStage) set(first int) {
	if g.firstHeld = first; g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// held returns the number of the first frame that the stage holds back, or noFrame if all frames
// pass.
func (g *holdStage) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.firstHeld
}

// WriteFrame passes frame on to the next stage as soon as g does not hold back frame number n. If
// it must wait, it first flushes the preceding frames. It returns an error if the stream ends or
// the client leaves while it waits, and otherwise any error from the next stage. A comment, for
// which n is -1, is never held back.
func (g *holdStage) WriteFrame(n int, frame []byte) error {
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
