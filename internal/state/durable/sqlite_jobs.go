package durable

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/streamassay/streamassay/internal/state"
)

// Limits on the number of jobs that are written in one transaction and on their size in bytes, and
// on the number and size of the events that are stored in one chunk.
const (
	maxBatchJobs   = 256      // jobs in one transaction
	maxBatchBytes  = 8 << 20  // bytes in one transaction, approximately
	maxChunkBytes  = 64 << 10 // bytes of a chunk with more than one event
	maxChunkEvents = 256      // events of one chunk
)

// A writeJob is a change that waits for the writer. The writer sets claimed before it executes the
// job. A caller that stops waiting sets claimed, too; if it is the first to do so, the writer skips
// the job.
type writeJob struct {
	apply   func(*sqliteWriter) error // called a second time if its first transaction is rolled back
	size    int                       // bytes of the change's data
	claimed atomic.Bool               // the job is no longer waiting
	err     error                     // result; set before done is closed
	done    chan struct{}             // closed when the change is committed or has failed
}

// submit passes change to the writer and waits until it is committed. The error wraps that of
// change or of the transaction. If ctx is done or the store is closed before the writer begins the
// change, submit withdraws the change and returns an error that wraps ctx.Err() or errClosed. The
// parameter size is the size of the changed data in bytes.
func (s *sqliteStore) submit(ctx context.Context, size int, change func(*sqliteWriter) error) error {
	j := &writeJob{apply: change, size: size, done: make(chan struct{})}
	err := ctx.Err()
	if err == nil {
		select {
		case s.jobs <- j:
		case <-ctx.Done():
		case <-s.closing:
		}
		select {
		case <-j.done:
			return s.wrap(j.err)
		case <-ctx.Done():
			err = ctx.Err()
		case <-s.closing:
			err = errClosed
		}
	}
	if j.claimed.CompareAndSwap(false, true) {
		return s.wrap(err)
	}
	<-j.done // the writer has claimed it: the result follows soon
	return s.wrap(j.err)
}

// writeLoop executes the waiting jobs, a batch in each transaction, until the store is closed.
func (s *sqliteStore) writeLoop() {
	var batch []*writeJob
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

// gatherBatch returns the jobs for the next transaction: the one job in initial, followed by
// waiting jobs, up to maxBatchJobs jobs and about maxBatchBytes bytes in all. Jobs that their
// callers have withdrawn are omitted. The result reuses the memory of initial.
func (s *sqliteStore) gatherBatch(initial []*writeJob) (batch []*writeJob) {
	batch = initial[:0]
	size := 0
	for j := initial[0]; ; {
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

func (s *sqliteStore) StartRun(ctx context.Context, b state.StartRunRequest) (state.StartRunResult, error) {
	messages, size, err := encodeMessages(b.Messages)
	if err != nil {
		return state.StartRunResult{}, s.wrap(err)
	}
	var g state.StartRunResult
	err = s.submit(ctx, size, func(d *sqliteWriter) (err error) {
		g, err = d.startRun(b, messages)
		return err
	})
	return g, err
}

func (s *sqliteStore) Append(ctx context.Context, run state.RunRef, update state.AppendBatch) (
	first int64, canceled bool, err error,
) {
	messages, size, err := encodeMessages(update.Messages)
	if err != nil {
		return 0, false, s.wrap(err)
	}
	chunks := encodeChunks(update.Events)
	for _, c := range chunks {
		size += len(c.data)
	}
	err = s.submit(ctx, size, func(d *sqliteWriter) (err error) {
		first, canceled, err = d.appendEvents(run, chunks, messages, update.End)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return first, canceled, nil
}

func (s *sqliteStore) Cancel(ctx context.Context, run state.RunRef) error {
	return s.submit(ctx, 0, func(d *sqliteWriter) error { return d.cancelRuns(run) })
}

// An eventChunk is a sequence of events that is stored in one row of the file. The field sizes
// contains the size of each event in bytes, as a varint. The field data contains the events without
// separators.
type eventChunk struct {
	count       int64 // number of events
	sizes, data []byte
}

// encodeChunks divides encoded events into chunks of at most maxChunkEvents events and
// maxChunkBytes bytes. A larger event is the only one in its chunk.
func encodeChunks(data [][]byte) (chunks []eventChunk) {
	for len(data) > 0 {
		n, size := 0, 0
		for n < len(data) && n < maxChunkEvents && (n == 0 || size+len(data[n]) <= maxChunkBytes) {
			size += len(data[n])
			n++
		}
		c := eventChunk{count: int64(n), sizes: make([]byte, 0, 2*n), data: make([]byte, 0, size)}
		for _, d := range data[:n] {
			c.sizes = binary.AppendUvarint(c.sizes, uint64(len(d)))
			c.data = append(c.data, d...)
		}
		chunks = append(chunks, c)
		data = data[n:]
	}
	return chunks
}

// errCorrupt is the error for a stored chunk whose sizes do not match its data.
var errCorrupt = errors.New("stored events are corrupt")

// decode returns the events of the chunk whose positions are greater than after. The parameter last
// is the position of the last event in the chunk; after must not be greater than last. The error is
// errCorrupt if the chunk is invalid.
func (c eventChunk) decode(last, after int64) (entries []state.LogEntry, err error) {
	for len(c.sizes) > 0 {
		size, n := binary.Uvarint(c.sizes)
		if n <= 0 || size > uint64(len(c.data)) {
			return nil, errCorrupt
		}
		entries = append(entries, state.LogEntry{Data: c.data[:size:size]})
		c.sizes, c.data = c.sizes[n:], c.data[size:]
	}
	first := last - int64(len(entries)) + 1
	for i := range entries {
		entries[i].Position = first + int64(i)
	}
	return entries[max(after-first+1, 0):], nil
}
