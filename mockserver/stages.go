package mockserver

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/streamassay/streamassay/mockserver/vary"
)

// A frameWriter is a stage of the pipeline that a response passes. WriteFrame passes on one frame, or
// a comment, for which n is -1; n counts the frames of the stream from 0.
type frameWriter interface {
	WriteFrame(n int, frame []byte) error
}

// A varyStage is the frame writer that varies the encoding of frames.
type varyStage struct {
	stream *vary.StreamEncoder
	client *clientWriter
	next   frameWriter
}

// WriteFrame passes a frame on in another encoding. It sends the segments of the encoding one by
// one if the next stage is the client, and joins them otherwise, because a fault receives whole
// frames.
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

// A stageWriter is what a fault writes to: it passes each write to the next stage as one frame.
type stageWriter struct {
	*clientWriter
	next       frameWriter
	frameCount *atomic.Int64
}

func (s stageWriter) Write(p []byte) (int, error) {
	return len(p), s.next.WriteFrame(int(s.frameCount.Load())-1, p)
}

// A gate is the frame writer that holds back the frames of a stream from a certain number on, until
// they are released. Its methods except WriteFrame may be called concurrently.
type gate struct {
	client *clientWriter
	next   frameWriter

	isHeld    atomic.Bool // whether firstHeld is set
	mu        sync.Mutex
	firstHeld int           // number of the first frame that waits, or noFrame
	changed   chan struct{} // closed when firstHeld changes
}

// holdFrom holds all frames whose number is at least from, counted from 0, and lets the frames
// before them pass. If from is noFrame, all frames pass.
func (g *gate) holdFrom(from int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set(from)
}

// allow lets n more frames pass. It returns an error if the gate does not hold the stream.
func (g *gate) allow(n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isHeld.Load() || g.firstHeld == noFrame {
		return errors.New("stream is not held")
	}
	g.set(g.firstHeld + n)
	return nil
}

// held returns the number of the first frame that the gate holds back, or noFrame if the gate holds
// back no frames.
func (g *gate) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isHeld.Load() {
		return noFrame
	}
	return g.firstHeld
}

// set changes the number of the first frame that is held back and wakes the goroutines that wait
// for the gate. The caller must hold g.mu.
func (g *gate) set(from int) {
	g.firstHeld = from
	g.isHeld.Store(from != noFrame)
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// WriteFrame passes a frame on when it may pass. It returns an error if the stream ends before that.
// Comments, for which n is -1, pass at once.
func (g *gate) WriteFrame(n int, frame []byte) error {
	if n >= 0 && g.isHeld.Load() {
		if err := g.wait(n); err != nil {
			return err
		}
	}
	return g.next.WriteFrame(n, frame)
}

// wait sends the preceding frames and blocks until frame n may pass. It returns an error if the
// stream ends before that.
func (g *gate) wait(n int) error {
	if n >= g.held() {
		if err := g.client.Flush(); err != nil {
			return err
		}
	}
	for {
		g.mu.Lock()
		if n < g.firstHeld || !g.isHeld.Load() {
			g.mu.Unlock()
			return nil
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		moved := g.changed
		g.mu.Unlock()
		select {
		case <-moved:
		case <-g.client.ctx.Done():
			return g.client.endError()
		}
	}
}
