// Package dialect reads the OpenAPI documents of spec/FAMILY/VERSION.yaml. A
// dialect is its document and the catalogue beside it; there is no Go code per
// dialect. The package says what a request or a frame means and where it breaks
// the document. It does not know what is right: rules judge.
//
// # The document
//
// OpenAPI 3.2; schemas are JSON Schema 2020-12, validated by keyword. A stream's
// frame is described by itemSchema. "x-default: true" at the top marks the version
// that a family's bare name means. The extensions:
//
// x-kind, on a schema: whatever fits this schema means this kind ("message.delta",
// see package spec). Such a schema is a word. Words are listed, most specific
// first, in the oneOf or anyOf of an itemSchema, of a reply's schema, or of the
// items of an x-parts array. A value is recognised as the first word whose marks
// it carries; only then it is validated against that word alone. The marks of a
// word are its properties (also those of allOf, and of nested objects) with a
// single-valued enum. A word without marks fits everything and stands last. To
// write, the first word of a kind is taken whose marks do not contradict the
// slots; so the form that a server should send stands before forms that are
// tolerated. Of a reply or request body that is one object of one form, the schema
// itself is the word.
//
// x-mark, on a property: "false": its single-valued enum is a constraint, not a
// mark. "present": the word is recognised by this property being there (one of
// several such properties is enough).
//
// x-slot, on a property, array item, parameter or header: this carries the slot of
// that name: thread, user (whose the thread is), run, message, call, id, name, role, type, status, index,
// text, seq, cursor, code, created, completed, limit (how many silent polls), day, more, about. An object or array under "text" is
// carried as compact JSON. A slot inside an array that is not x-parts is carried
// joined (texts are concatenated).
//
// x-parts: true, on a property that is an array (or an object): its items are
// words of their own, heard as the Parts of the event around them. "named" is that
// only items with an x-kind are; the slots of the others belong to the event around
// them. Requests carry
// their messages (ask.user, ask.assistant, ask.system, ask.tool), offered tools
// (ask.tool-spec) and resumes (ask.resume) so.
//
// x-write, on a property: the value to write where no slot says it (like default,
// which also serves; x-write wins).
//
// x-within, on a word that stands in messages: the type and role of the message
// that a server of ours puts it in.
//
// x-snapshots: true, on a word for a call that is not whole: a server of ours tells
// how a call grows with it.
//
// x-times, on a word: how often a server of ours says it, each time the same.
//
// x-stream, on an operation: its 200 answer is a stream. "sentinel" is the in-band
// terminator ("[DONE]"), which is read as the kind "done"; "sends" (default true)
// says whether a server of ours writes it. "event": "type" writes an SSE event
// field with the frame's type. "id": true writes the cursor as SSE id. "requirements" are
// those on the head of the answer: status (that it is 200), content-type, and
// content-coding (that it has none which was not asked for).
//
// A body of multipart/form-data is an object: its texts are strings; a property with
// x-kind (ask.file) is a file, heard as a part of that kind: its name, media type and
// bytes. minLength and maxLength of files are in bytes, and encoding says which media
// types they may have (keyword content-type), and with x-requirement, a map from media
// type to id, that each is accepted. In an example a file is {filename,
// contentType, base64, zeros}, where zeros are so many bytes more. An x-error beside
// the schema is for what is no form (keyword multipart).
//
// A body of a form is sent with its texts first. How large a file may be is tried a
// twentieth above and below its maxLength: what a megabyte is, opinions differ. A field
// that is there more than once (keyword twice) breaks the document, and so does a body
// of more than 16 MiB, of which nothing more is said.
//
// A request for an absolute URL is for a link that the server gave: what comes is heard
// as spec.Fetched. Where an operation documents several successes, any of them is right;
// a server of ours answers with the first.
//
// x-says, on an operation: the phrase that a request of it says if it has no body, or a
// file: listen, cancel, health. Operations with a body say what the named examples of
// their body are called: prompt, tool-offer, tool-result, resume, …; "{{slot}}" in
// an example stands for the slot; a member whose value is "{{slot?}}" is left out
// where the slot is empty; "{{slot*}}" is the slot's text as JSON.
//
// x-requirement, on a schema of a frame, a reply or a request: the requirement that
// is broken where this schema, or what is inside, is broken; and that is upheld
// where the value is there and fits. Either one id, inherited inward, or a map from
// keyword to id for this very place (required, type, enum, minimum, maximum,
// minLength, maxLength, pattern, format, not, …; "required" stands on the property
// that is missing, as do "dependent" ones). The innermost wins. Each itemSchema
// carries one, so that every breach belongs to a requirement. In a request:
// accepting a request in which the value is there upholds the requirement.
//
// x-absent, on a parameter, or on a property of a JSON body: the requirement that says
// what is meant where it is left out. A request without it that is answered as one with
// it exercises that requirement.
//
// x-without, on an operation: request headers that it can do without, each with the
// requirement that is upheld where a request without it is accepted. (OpenAPI has no
// parameters of the names Accept, Content-Type and Authorization.)
//
// x-error, on any schema, parameter, request body, media type or operation of a
// request, or on a path item (for methods it does not have): how a request is
// refused that breaks this, or what is inside. A list of demands, or one; each is
// judged on its own:
//
//	x-error:
//	  - {requirement: runs.create.thread-uuid, status: 422}
//	  - {requirement: runs.errors.code-run-input, status: 422, code: [A, B]}
//	  - {requirement: runs.errors.text-thread, text: threadId must be a valid UUID}
//
// status is a number, a class ("4XX"), or a list of either; without it anything
// from 400 on fits. code is one or a list, any of which fits. text must stand in
// the body. in-band: true says that a stream of one run.refused frame fits as well.
// requirement is an id, or a map from keyword to id for this very place; a demand
// with a map that lacks the keyword is passed over. The innermost list that has a
// demand for the broken keyword is taken; "inherit: true" as a demand adds the next
// one outward. A request body's own x-error (beside content) is for a wrong content
// type, a media type's (beside schema) for a body that is not JSON.
//
// x-denied, on an operation: how those are refused who ask rightly and may not ask. A
// list of demands, or one, as in x-error, for each reason: nobody (there are no
// credentials), stranger (nobody handed them out), other (what is asked about is
// another user's) and crowd (as many streams are open as are allowed). "plain: true"
// says that the refusal is no event stream; "with: cursor" that the demand is on
// requests that carry this slot. The OpenAPI keyword security says which operations
// want credentials at all.
//
// x-code, on a response: the code that a server of ours gives with this status,
// where no x-error names another.
//
// x-max-bytes, on a media type: {limit: 262144, over: 300000, under: 250000, with:
// {...}, fill: /pointer}: a body of more than limit bytes breaks the document; to
// try it, "with" is merged into a valid body and the string at "fill" is grown
// until the body has "over" (or "under") bytes. It takes x-error inside.
//
// # The catalogue
//
// VERSION.requirements.yaml: a list of id, level, quote, source and either checks
// or excluded {kind, reason}. x-requirement and x-error may name only requirements
// that stand there and name the check wire.matches-schema, refuse.as-documented or
// accept.as-documented. Where several requirements name one check that does not itself
// say which of them a judgement is about, "about" lists the kinds of events that are
// evidence for this one; those without it have the rest.
package dialect
