package dialect

import (
	"slices"
	"sync"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// A RunEndDetector finds the end of a run in an event stream while the stream is being received.
// The end is the terminal event of the run or, in a dialect in which no event ends a successful
// run, the in-band terminator. A RunEndDetector is not safe for concurrent use.
type RunEndDetector struct {
	dialect   *Dialect
	operation *Operation
	run       func() string // returns the run id in the request; "" if it has none
	hasRunEnd bool          // the dialect has an event that ends a successful run
	decoder   *sse.Decoder
	scanned   int  // number of bytes of the body that were examined
	found     bool // the end was found
}

// NewRunEndDetector returns a RunEndDetector for the body of the response to r. It returns nil if
// the document does not describe r as a request for an event stream.
func (d *Dialect) NewRunEndDetector(r spec.Request) *RunEndDetector {
	o := d.Operation(r)
	if o == nil || !o.IsStream || len(o.frameVariants) == 0 {
		return nil
	}
	return &RunEndDetector{
		dialect: d, operation: o, run: sync.OnceValue(func() string { return d.ParseRequest(r).Run }),
		hasRunEnd: slices.Contains(d.Kinds(), spec.RunEnd), decoder: sse.NewDecoder(MaxEventBytes),
	}
}

// Find reports whether body contains the end of the run. The argument body must be all of the body
// that was received so far. Find resumes where the previous call ended. Once it has found the end,
// it always returns true. At an event that exceeds [MaxEventBytes], it stops searching for good.
func (f *RunEndDetector) Find(body []byte) bool {
	if f.found || f.decoder.Err() != nil {
		return f.found
	}
	for item := range f.decoder.Feed(body[f.scanned:]) {
		f.found = f.found || item.Kind == sse.Event && f.isEnd(item)
	}
	f.scanned = len(body)
	return f.found
}

// isEnd reports whether the item ends the run. A terminal event with the id of a different run does
// not end it.
func (f *RunEndDetector) isEnd(item sse.Item) bool {
	if !f.hasRunEnd && f.operation.isSentinel(item.Data) {
		return true
	}
	v, err := f.operation.decodeFrameValue(item)
	if err != nil || jsonType(v) != "object" {
		return false
	}
	w := matchVariant(f.operation.frameVariants, v)
	if w == nil || w.kind != spec.RunEnd && w.kind != spec.RunError && w.kind != spec.RunRefused {
		return false
	}
	var e spec.Event
	w.decode(&e, v, contentsOnly)
	return e.Run == "" || f.run() == "" || e.Run == f.run()
}

// beginsLate reports whether the response of x streams a run that an earlier request started, from
// its beginning (without a cursor), but lacks the start of the run. The argument request is the
// event of the request.
func (d *Dialect) beginsLate(x spec.Exchange, request spec.Event) bool {
	o := d.Operation(x.Request)
	if o == nil || !o.IsStream || o.StartsRun || request.Cursor != "" || x.Response.Status/100 != 2 {
		return false
	}
	for e := range d.Contents(spec.Trace{Exchanges: []spec.Exchange{x}}) {
		if e.Kind == spec.RunStart && (request.Run == "" || e.Run == request.Run) {
			return false
		}
	}
	return true
}
