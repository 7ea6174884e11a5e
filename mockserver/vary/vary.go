// Package vary says the same in other words: it spells frames, replies and headers
// in ways that HTTP, event streams, JSON and the dialect's document allow and that
// clients wrongly rely on not to see. What it gives means what it was given. It does
// not know what frames mean, whose they are or when they are sent, and it leaves
// alone what is not well-formed: that is somebody's fault on purpose.
package vary

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Trait is one way in which spellings vary.
type Trait string

// The traits.
const (
	ByteOrderMark      Trait = "mark"            // a byte order mark begins the stream
	CRLF               Trait = "crlf"            // lines end with CR LF
	CR                 Trait = "cr"              // lines end with CR
	MixedLineEnds      Trait = "mixed-ends"      // lines end with any of the three
	NoSpace            Trait = "no-space"        // no space after the colon of a field
	FieldOrder         Trait = "field-order"     // data before id and event
	Comments           Trait = "comments"        // comments between frames
	InnerComments      Trait = "inner-comments"  // comments between the lines of a frame
	BlankLines         Trait = "blank-lines"     // more blank lines than one
	MultilineData      Trait = "many-lines"      // data over several lines
	Retry              Trait = "retry"           // retry fields, alone and in frames
	UnknownFields      Trait = "unknown-fields"  // SSE fields that the standard does not have
	EventNames         Trait = "event-names"     // the event name that every event has that has none
	EventIDs           Trait = "event-ids"       // ids at which nothing can be taken up
	KeyOrder           Trait = "key-order"       // members in any order
	Whitespace         Trait = "whitespace"      // between the tokens of JSON
	Escapes            Trait = "escapes"         // characters of JSON strings as \u escapes, and the other way round
	Numbers            Trait = "numbers"         // 1.0 and 10e-1 for 1
	UnknownMembers     Trait = "unknown-members" // members that the document does not name
	UnknownEvents      Trait = "unknown-events"  // events of types that the document does not name
	Cursors            Trait = "cursors"         // another form of cursors
	HeaderCase         Trait = "header-case"     // content-type, CONTENT-TYPE
	MediaTypes         Trait = "media-types"     // other spellings of the content type
	UnknownHeaders     Trait = "unknown-headers" // headers that nobody asked for
	SingleByteSegments Trait = "bytes"           // short frames are cut into single bytes
	SplitCharacters    Trait = "inner-cuts"      // cuts inside of UTF-8 characters, and between CR and LF
	RandomSegments     Trait = "cuts"            // cuts anywhere
	JoinedFrames       Trait = "joins"           // several frames in one segment
)

// Traits are all traits, in the order in which they are documented.
var Traits = []Trait{
	ByteOrderMark, CRLF, CR, MixedLineEnds, NoSpace, FieldOrder, Comments, InnerComments, BlankLines, MultilineData, Retry, UnknownFields,
	EventNames, EventIDs, KeyOrder, Whitespace, Escapes, Numbers, UnknownMembers, UnknownEvents, Cursors,
	HeaderCase, MediaTypes, UnknownHeaders, SingleByteSegments, SplitCharacters, RandomSegments, JoinedFrames,
}

// A Variation is how one server spells what it says. It has some of the traits that
// its dialect allows. Frames, replies and cursors are spelled the same whenever they
// are told, as an event that is told again has to be the one that was told. It is
// safe for concurrent use.
type Variation struct {
	seed           uint64
	profile        *profile
	traits         []Trait
	cursorEncoding cursorEncoding
	lineEnds       []string // of lines
}

// New makes the variation of a seed: what is varied, and how, comes from it alone.
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

// chooseLineEnds keeps one of the traits about the ends of lines, or none.
func (v *Variation) chooseLineEnds(r *rand.Rand) {
	choice := []Trait{"", CRLF, CR, MixedLineEnds}[r.IntN(4)]
	v.traits = slices.DeleteFunc(v.traits, func(t Trait) bool {
		return (t == CRLF || t == CR || t == MixedLineEnds) && t != choice
	})
	if choice != "" && !v.Has(choice) {
		v.traits = append(v.traits, choice)
	}
	v.lineEnds = map[Trait][]string{"": {"\n"}, CRLF: {"\r\n"}, CR: {"\r"}, MixedLineEnds: {"\n", "\r\n", "\r"}}[choice]
}

// Has says whether the variation has a trait.
func (v *Variation) Has(t Trait) bool { return slices.Contains(v.traits, t) }

// Traits lists what varies.
func (v *Variation) Traits() []Trait { return slices.Clone(v.traits) }

// rng is the source of all chance about something: the same for the same bytes.
func (v *Variation) rng(about string, data []byte) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(about))
	h.Write([]byte{0})
	h.Write(data)
	return rand.New(rand.NewPCG(v.seed, h.Sum64()))
}

func (v *Variation) streamRNG(seed uint64) *rand.Rand {
	return v.rng("stream", binary.BigEndian.AppendUint64(nil, seed))
}

// requiresCheck says whether a dialect's catalogue obliges servers to a check.
func requiresCheck(d *dialect.Dialect, check string) bool {
	return slices.ContainsFunc(d.Requirements, func(r spec.Requirement) bool {
		return r.Level != spec.May && slices.Contains(r.Checks, check)
	})
}
