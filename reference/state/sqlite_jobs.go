package state

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
)

// Bounds of what is written at once.
const (
	maxBatchJobs   = 256      // in one transaction
	maxBatchBytes  = 8 << 20  // bytes of them, about
	maxChunkBytes  = 64 << 10 // bytes of a chunk with more than one event
	maxChunkEvents = 256      // events of a chunk
)

// A job is something that waits to be written. It is claimed by whoever writes, or
// given up by who waits for it, and then nothing was done.
type job struct {
	apply   func(*writer) error // may be called twice: what it did before was undone
	size    int
	claimed atomic.Bool
	err     error
	done    chan struct{}
}

// submit has something written, and returns when it is on the medium.
func (s *sqliteStore) submit(ctx context.Context, size int, do func(*writer) error) error {
	j := &job{apply: do, size: size, done: make(chan struct{})}
	gone := s.closing
	var err error
	select {
	case s.jobs <- j:
		select {
		case <-j.done:
			return s.wrap(j.err)
		case <-ctx.Done():
			err = ctx.Err()
		case <-gone:
			err = errClosed
		}
	case <-ctx.Done():
		return s.wrap(ctx.Err())
	case <-gone:
		return s.wrap(errClosed)
	}
	if j.claimed.CompareAndSwap(false, true) {
		return s.wrap(err)
	}
	<-j.done // it is being written now, and will be known in a moment
	return s.wrap(j.err)
}

// writeLoop gathers what waits into one transaction after the other.
func (s *sqliteStore) writeLoop() {
	var batch []*job
	for {
		select {
		case j := <-s.jobs:
			batch = s.gatherBatch(append(batch[:0], j))
		case <-s.closing:
			return
		}
		s.writer.writeBatch(batch)
		for i, j := range batch {
			close(j.done)
			batch[i] = nil
		}
	}
}

// gatherBatch takes what waits besides.
func (s *sqliteStore) gatherBatch(first []*job) (batch []*job) {
	batch = first[:0]
	size := 0
	for j := first[0]; ; {
		if j.claimed.CompareAndSwap(false, true) {
			batch = append(batch, j)
			size += j.size
		}
		if len(batch) == maxBatchJobs || size > maxBatchBytes {
			return batch
		}
		select {
		case j = <-s.jobs:
		default:
			return batch
		}
	}
}

func (s *sqliteStore) StartRun(ctx context.Context, b RunRequest) (RunInfo, error) {
	if err := ctx.Err(); err != nil {
		return RunInfo{}, s.wrap(err)
	}
	messages, size, err := encodeMessages(b.Messages)
	if err != nil {
		return RunInfo{}, s.wrap(err)
	}
	var g RunInfo
	err = s.submit(ctx, size, func(d *writer) (err error) {
		g, err = d.startRun(b, messages)
		return err
	})
	if err != nil {
		return RunInfo{}, err
	}
	return g, nil
}

func (s *sqliteStore) Append(ctx context.Context, run RunRef, update RunUpdate) (first int64, canceled bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, s.wrap(err)
	}
	messages, size, err := encodeMessages(update.Messages)
	if err != nil {
		return 0, false, s.wrap(err)
	}
	chunks := encodeChunks(update.Events)
	for _, c := range chunks {
		size += len(c.data)
	}
	err = s.submit(ctx, size, func(d *writer) (err error) {
		first, canceled, err = d.appendEvents(run, chunks, messages, update.End)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return first, canceled, nil
}

func (s *sqliteStore) Cancel(ctx context.Context, run RunRef) error {
	if err := ctx.Err(); err != nil {
		return s.wrap(err)
	}
	return s.submit(ctx, 0, func(d *writer) error { return d.cancelRuns(run) })
}

// A messageRow is a message as it is written.
type messageRow struct {
	day  any // nil if it is not shown
	data []byte
}

func encodeMessages(messages []Message) (lines []messageRow, size int, err error) {
	for _, m := range messages {
		data, err := json.Marshal(m)
		if err != nil {
			return nil, 0, fmt.Errorf("message %q: %w", m.ID, err)
		}
		l := messageRow{data: data}
		if !m.Hidden {
			l.day = dayOf(m)
		}
		lines = append(lines, l)
		size += len(data)
	}
	return lines, size, nil
}

// A chunk is events as they are written.
type chunk struct {
	count       int64
	sizes, data []byte
}

func encodeChunks(data [][]byte) (chunks []chunk) {
	for len(data) > 0 {
		n, size := 0, 0
		for n < len(data) && n < maxChunkEvents && (n == 0 || size+len(data[n]) <= maxChunkBytes) {
			size += len(data[n])
			n++
		}
		c := chunk{count: int64(n), sizes: make([]byte, 0, 2*n), data: make([]byte, 0, size)}
		for _, d := range data[:n] {
			c.sizes = binary.AppendUvarint(c.sizes, uint64(len(d)))
			c.data = append(c.data, d...)
		}
		chunks = append(chunks, c)
		data = data[n:]
	}
	return chunks
}

// errCorrupt is a chunk that cannot be read.
var errCorrupt = errors.New("events are damaged")

// decode reads a chunk back, as far as it is beyond a place.
func (c chunk) decode(last, at int64) (all []LogEntry, err error) {
	for sizes := c.sizes; len(sizes) > 0; c.count++ {
		_, n := binary.Uvarint(sizes)
		if n <= 0 {
			return nil, errCorrupt
		}
		sizes = sizes[n:]
	}
	for place := last - c.count + 1; place <= last; place++ {
		size, n := binary.Uvarint(c.sizes)
		if size > uint64(len(c.data)) {
			return nil, errCorrupt
		}
		if place > at {
			all = append(all, LogEntry{Position: place, Data: c.data[:size:size]})
		}
		c.sizes, c.data = c.sizes[n:], c.data[size:]
	}
	return all, nil
}
