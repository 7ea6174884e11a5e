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
	mostJobs   = 256      // in one transaction
	mostTold   = 8 << 20  // bytes of them, about
	mostChunk  = 64 << 10 // bytes of a chunk with more than one event
	mostPlaces = 256      // events of a chunk
)

// A job is something that waits to be written. It is claimed by whoever writes, or
// given up by who waits for it, and then nothing was done.
type job struct {
	do      func(*desk) error // may be called twice: what it did before was undone
	size    int
	claimed atomic.Bool
	err     error
	done    chan struct{}
}

// submit has something written, and returns when it is on the medium.
func (s *sqliteStore) submit(ctx context.Context, size int, do func(*desk) error) error {
	j := &job{do: do, size: size, done: make(chan struct{})}
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

// write gathers what waits into one transaction after the other.
func (s *sqliteStore) write() {
	var batch []*job
	for {
		select {
		case j := <-s.jobs:
			batch = s.gather(append(batch[:0], j))
		case <-s.closing:
			return
		}
		s.desk.work(batch)
		for i, j := range batch {
			close(j.done)
			batch[i] = nil
		}
	}
}

// gather takes what waits besides.
func (s *sqliteStore) gather(first []*job) (batch []*job) {
	batch = first[:0]
	size := 0
	for j := first[0]; ; {
		if j.claimed.CompareAndSwap(false, true) {
			batch = append(batch, j)
			size += j.size
		}
		if len(batch) == mostJobs || size > mostTold {
			return batch
		}
		select {
		case j = <-s.jobs:
		default:
			return batch
		}
	}
}

func (s *sqliteStore) Begin(ctx context.Context, b Beginning) (Begun, error) {
	if err := ctx.Err(); err != nil {
		return Begun{}, s.wrap(err)
	}
	said, size, err := spellSaid(b.Said)
	if err != nil {
		return Begun{}, s.wrap(err)
	}
	var g Begun
	err = s.submit(ctx, size, func(d *desk) (err error) {
		g, err = d.begin(b, said)
		return err
	})
	if err != nil {
		return Begun{}, err
	}
	return g, nil
}

func (s *sqliteStore) Tell(ctx context.Context, run Ref, told Told) (first int64, canceled bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, s.wrap(err)
	}
	said, size, err := spellSaid(told.Said)
	if err != nil {
		return 0, false, s.wrap(err)
	}
	chunks := spellData(told.Data)
	for _, c := range chunks {
		size += len(c.data)
	}
	err = s.submit(ctx, size, func(d *desk) (err error) {
		first, canceled, err = d.tell(run, chunks, said, told.Over)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return first, canceled, nil
}

func (s *sqliteStore) Cancel(ctx context.Context, run Ref) error {
	if err := ctx.Err(); err != nil {
		return s.wrap(err)
	}
	return s.submit(ctx, 0, func(d *desk) error { return d.cancel(run) })
}

// A line is a message as it is written.
type line struct {
	day  any // nil if it is not shown
	data []byte
}

func spellSaid(said []Message) (lines []line, size int, err error) {
	for _, m := range said {
		data, err := json.Marshal(m)
		if err != nil {
			return nil, 0, fmt.Errorf("message %q: %w", m.ID, err)
		}
		l := line{data: data}
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

func spellData(data [][]byte) (chunks []chunk) {
	for len(data) > 0 {
		n, size := 0, 0
		for n < len(data) && n < mostPlaces && (n == 0 || size+len(data[n]) <= mostChunk) {
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

// errDamaged is a chunk that cannot be read.
var errDamaged = errors.New("events are damaged")

// entries reads a chunk back, as far as it is beyond a place.
func (c chunk) entries(last, at int64) (all []Entry, err error) {
	for sizes := c.sizes; len(sizes) > 0; c.count++ {
		_, n := binary.Uvarint(sizes)
		if n <= 0 {
			return nil, errDamaged
		}
		sizes = sizes[n:]
	}
	for place := last - c.count + 1; place <= last; place++ {
		size, n := binary.Uvarint(c.sizes)
		if size > uint64(len(c.data)) {
			return nil, errDamaged
		}
		if place > at {
			all = append(all, Entry{At: place, Data: c.data[:size:size]})
		}
		c.sizes, c.data = c.sizes[n:], c.data[size:]
	}
	return all, nil
}
