// Package vary changes the encoding of frames, replies and headers without changing their
// meaning, in ways that HTTP, event streams, JSON and the dialect's document allow but that
// careless clients do not expect. Input that is not well-formed stays unchanged, because it
// is the effect of an injected fault.
package vary

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Trait is one way in which the encoding of a response can differ from that of the reference
// server.
type Trait string

// The traits of variations, which are the ways in which responses may differ from the original
// ones. A variation has only traits that the document of its dialect allows.
const (
	ByteOrderMark      Trait = "mark"            // the stream begins with a byte order mark
	CRLF               Trait = "crlf"            // lines end with CR LF
	CR                 Trait = "cr"              // lines end with CR
	MixedLineEnds      Trait = "mixed-ends"      // each line ends with LF, CR LF or CR
	NoSpace            Trait = "no-space"        // no space after the colon of a field
	FieldOrder         Trait = "field-order"     // the fields of a frame are in random order
	Comments           Trait = "comments"        // comments between frames
	InnerComments      Trait = "inner-comments"  // comments between the lines of a frame
	BlankLines         Trait = "blank-lines"     // more than one blank line between frames
	MultilineData      Trait = "many-lines"      // data is divided into several lines
	Retry              Trait = "retry"           // retry fields, alone and in frames
	UnknownFields      Trait = "unknown-fields"  // SSE fields that the standard does not define
	EventNames         Trait = "event-names"     // an explicit event name "message", which is the default
	EventIDs           Trait = "event-ids"       // ids from which streams cannot be resumed
	KeyOrder           Trait = "key-order"       // JSON members are in random order
	Whitespace         Trait = "whitespace"      // whitespace between JSON tokens
	Escapes            Trait = "escapes"         // characters of JSON strings as \u escapes
	Numbers            Trait = "numbers"         // other forms of JSON numbers, such as 1.0 and 10e-1
	UnknownMembers     Trait = "unknown-members" // JSON members that the document does not name
	UnknownEvents      Trait = "unknown-events"  // events of types that the document does not name
	Cursors            Trait = "cursors"         // cursors have another form
	HeaderCase         Trait = "header-case"     // names of header fields in another case, such as CONTENT-TYPE
	MediaTypes         Trait = "media-types"     // other forms of the Content-Type value
	UnknownHeaders     Trait = "unknown-headers" // additional header fields
	SingleByteSegments Trait = "bytes"           // short frames in segments of one byte
	SplitCharacters    Trait = "inner-cuts"      // segments that end within a UTF-8 character or a CRLF
	RandomSegments     Trait = "cuts"            // segments that end anywhere
	JoinedFrames       Trait = "joins"           // several frames in one segment
)

// Traits lists all traits in the order in which the documentation lists them.
var Traits = []Trait{
	ByteOrderMark, CRLF, CR, MixedLineEnds, NoSpace, FieldOrder, Comments, InnerComments,
	BlankLines, MultilineData, Retry, UnknownFields, EventNames, EventIDs, KeyOrder, Whitespace,
	Escapes, Numbers, UnknownMembers, UnknownEvents, Cursors, HeaderCase, MediaTypes,
	UnknownHeaders, SingleByteSegments, SplitCharacters, RandomSegments, JoinedFrames,
}

// A Variation is one way to encode the responses of a server that conforms to the protocol. It has
// some of the traits that the dialect allows. A Variation always encodes the same frame or cursor
// in the same way, because a replayed event must equal the original. It is safe for concurrent use.
type Variation struct {
	seed           uint64
	profile        *variationConstraints // what the dialect allows
	traits         []Trait
	cursorEncoding cursorEncoding
	lineEnds       []string // the line endings among which the variation chooses
}

// New returns a variation for dialect d. The seed determines its traits and all of its random
// choices.
func New(seed uint64, d *dialect.Dialect) *Variation {
	v := &Variation{seed: seed, profile: profileOf(d)}
	r := v.rng("traits", nil)
	for _, t := range Traits {
		if r.IntN(3) > 0 && v.profile.allows(t) {
			v.traits = append(v.traits, t)
		}
	}
	v.chooseLineEnds(r)
	v.cursorEncoding = cursorEncodings[r.IntN(len(cursorEncodings))]
	return v
}

// chooseLineEnds chooses the line endings of the variation at random: LF, or those of one of the
// traits [CRLF], [CR] and [MixedLineEnds] if the dialect allows that trait. The variation then has
// the chosen trait and not the other two or, with LF, none of the three.
func (v *Variation) chooseLineEnds(r *rand.Rand) {
	choice := []Trait{"", CRLF, CR, MixedLineEnds}[r.IntN(4)]
	if !v.profile.allows(choice) {
		choice = ""
	}
	v.traits = slices.DeleteFunc(v.traits, func(t Trait) bool {
		return (t == CRLF || t == CR || t == MixedLineEnds) && t != choice
	})
	if choice != "" && !v.Has(choice) {
		v.traits = append(v.traits, choice)
	}
	v.lineEnds = map[Trait][]string{"": {"\n"}, CRLF: {"\r\n"}, CR: {"\r"}, MixedLineEnds: {"\n", "\r\n", "\r"}}[choice]
}

// Has reports whether the variation has the trait t.
func (v *Variation) Has(t Trait) bool { return slices.Contains(v.traits, t) }

// Traits returns the traits of the variation in no particular order. The caller may modify the
// slice.
func (v *Variation) Traits() []Trait { return slices.Clone(v.traits) }

// rng returns a source of random numbers. The seed of the variation, the purpose and the data
// determine the sequence, so that equal frames are encoded in the same way. The purpose is a name
// for what the numbers are used for, so that different uses do not share a sequence.
func (v *Variation) rng(purpose string, data []byte) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write(data)
	return rand.New(rand.NewPCG(v.seed, h.Sum64()))
}

// requiresCheck reports whether the [spec.Check] with the given id judges a MUST or SHOULD
// requirement of dialect d.
func requiresCheck(d *dialect.Dialect, check string) bool {
	return slices.ContainsFunc(d.Requirements, func(r spec.Requirement) bool {
		return r.Level != spec.May && slices.Contains(r.Checks, check)
	})
}
