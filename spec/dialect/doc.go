// Package dialect reads the OpenAPI documents of spec/FAMILY/VERSION.yaml, which [Open] opens, and
// those of other files, which [OpenFile] opens and validates. A dialect consists of its document
// and the catalogue beside it; there is no Go code per dialect. The package decodes requests,
// responses and frames, encodes them, and reports where they violate the document. Judging is
// the task of package rules.
//
// # The document
//
// Documents are OpenAPI 3.2; schemas are JSON Schema 2020-12, validated keyword by keyword.
// itemSchema describes the frames of a stream. "x-default: true" at the top level marks the default
// version of a family. "x-extends: VERSION" at the top level makes the file a JSON merge patch (RFC
// 7396) for the document of that version. If the URL of the server is {endpoint}, the document
// prescribes no path, and requests to the path / go to the base URL of a target itself. The default
// of the variable endpoint is the path that the servers of this project use. The following
// extensions are defined.
//
// x-kind, on a schema: the kind of the values of this schema ("message.delta", see package
// spec). A schema with x-kind is called a variant. Variants are listed, most specific first,
// in the oneOf or anyOf of an itemSchema, of a reply's schema, or of the items of an x-parts
// array. If a reply or request body has only one form, its schema itself is the variant. A
// value is decoded as the first variant whose discriminators match, and validated against
// that variant only. The discriminators of a variant are its properties (also those of allOf
// and of nested objects) with a single-valued enum. A variant without discriminators matches
// every value and must be last. An event is encoded as the first variant of its kind whose
// discriminators do not contradict the event's slots, so the form that a server should send
// must precede forms that are only tolerated.
//
// x-mark, on a property: "false" makes its single-valued enum a constraint and not a discriminator.
// With "present", a value matches the variant only if it has this property or, if several
// properties are marked in this way, one of them. With "absent", a value matches the variant only if
// it does not have this property. Here, null means that a value does not have the property.
//
// x-in, on a variant of a content: a list of types of messages. A value matches the variant only if it
// belongs to a message of one of these types. That is the message that carries the value in x-parts
// or, for a frame, the earlier message of the stream that its slot message names.
//
// x-slot, on a property, array item, parameter or header: the slot of spec.Event that it carries:
// thread, user, run, message, call, id, name, role, type, status, index, text, seq, cursor, code,
// created, completed, limit (PollLimit), day, more (HasMore), about (Description), state, answer
// (AnswerSchema) or lane. An object or array in the slot text is carried as compact JSON. The texts
// of a slot inside an array without x-parts are concatenated.
//
// x-parts: events, on a property of a frame: its items, or its value if that is not an array, are
// variants. They are decoded as events of their own, which come before the event of the frame. If
// several properties have such items, the order of their events is the alphabetical order of the
// properties. The reference server holds such events back until it writes the frame that carries
// them. A frame whose variant has no x-kind is an envelope. If it carries events, it stands for no
// event of its own. The reference server does not hold back events that an envelope can carry, but
// sends each in an envelope with the slots of the run.
//
// x-parts: single, on a property that is an array of objects: its items belong to the surrounding
// event, and it is encoded with one item. Discriminators may be inside.
//
// x-chunk, on a variant of a frame or of an event that a frame carries: it is a chunk, a delta that
// may also start the message or call to which it belongs. "of" is the slot with the id of that
// message or call ("message" or "call"), and "start" and "end" are the kinds of the implied events.
// The first chunk of a message or call implies its start. A chunk without an id belongs to the same
// message or call as the chunk before. The next event that is not a chunk of the same message or
// call implies its end, unless it is that end itself. With "by", which names a slot such as index,
// several messages or calls may be open at once. A chunk without an id then belongs to the one with
// the same value in this slot, the next event of the kind "until" implies the end of all, and the
// reference server sends the id only in the first chunk.
//
// x-after, on a variant for the end of a run: a kind of events. The reference server sends the
// variant only if the run had an event of this kind, and a variant without x-after only if it had
// none.
//
// x-parts: true, on a property that is an array (or an object): its items are variants,
// decoded as the Parts of the surrounding event. With "named", only items with an x-kind are
// parts, and the slots of the others belong to the surrounding event. Messages (ask.user,
// ask.assistant, ask.system, ask.tool), client tools (ask.tool-spec) and resumes
// (ask.resume) are parts of requests.
//
// x-write, on a property: the value that is encoded if no slot provides one. It must be valid
// against the schema of the property. It takes precedence over default, which otherwise serves the
// same purpose.
//
// x-within, on a variant that is a part of messages: the type and role of the message in
// which the reference server sends it.
//
// x-snapshots: true, on a variant for an incomplete call: the reference server sends it
// repeatedly while the call grows.
//
// x-times, on a variant: the number of times that the reference server sends it, each time the
// same.
//
// x-stream, on an operation: its 200 response is an event stream. "sentinel" is the in-band
// terminator ("[DONE]"), decoded as the kind "done"; "sends" (default true) is whether the
// reference server sends it. "foreign-sentinel" is a terminator of other protocols that this one
// does not have; it is decoded as "done", too, but is judged to be wrong. With "event: type", the
// reference server writes an SSE event field with the frame's type; with "id: true", it writes the
// cursor as SSE id. With "event-suffices: true", a frame whose JSON object lacks the member that
// "event" names is read as if the SSE event field were that member. "keep-alive" is the text, after
// the colon, of the comments on an idle stream. "requirements" holds the requirements on the head
// of the response, by name: status (the status is 200), content-type, and content-coding (there is
// no coding that the client did not accept). "json-lines" lists media types that a server may send
// instead of an event stream; each line of the body is then the JSON of one frame. "fields" lists
// the SSE fields that frames may have besides data, if wire.frames-are-plain applies.
// "failure-status" lists status codes, such as 5XX, with which a server may answer a request whose
// run fails before it has a stream. With "reorders: true", a server may send events in another
// order than its agent produced them: the text after a tool result may then come before it.
//
// A body of multipart/form-data is described as an object. Its text fields are strings; a
// property with x-kind (ask.file) is a file, decoded as a part with its name, media type
// and bytes. minLength and maxLength of files are in bytes. "encoding" gives their media
// types (keyword content-type), and, in x-requirement, a map from media type to the
// requirement that it is accepted. In an example, a file is {filename, contentType, base64,
// zeros}, where zeros is the number of zero bytes to append. x-error beside the schema
// applies to bodies that are not valid multipart (keyword multipart).
//
// Forms are sent with the text fields first. Sizes are tested 5% above and below maxLength,
// since servers differ in what a megabyte is. A duplicate field (keyword twice) violates the
// document, and so does a body of more than 16 MiB, which is not examined further.
//
// A request for an absolute URL fetches a link that the server gave; the response is decoded as
// attachment content. If an operation documents several successful statuses, each is accepted, and
// the reference server responds with the first.
//
// x-says, on an operation without a body or with a file: the name of its template, such as listen,
// cancel or health. The templates of other operations are the named examples of their body: prompt,
// tool-offer, tool-result, resume and so on. In an example, "{{slot}}" stands for the slot; a
// member with the value "{{slot?}}" is left out if the slot is empty; "{{slot*}}" is the slot's
// text as JSON, and "{{slot#}}" is the slot's text as an integer. In a list that is a member of the
// body, the item "{{history}}" stands for the messages of the thread so far, with their ids. These
// are the messages that were sent and those with which the server answered. The latter are encoded
// in the forms that the schema of the list's items has for the kinds ask.assistant, tool.call and
// ask.tool.
//
// x-settings, at the top level: values that only the user of a server knows, such as the name of a
// model. It maps the name of each setting to {default, description}, of which default is required.
// In an example of a request body, "{{set.NAME}}" stands for the value, which is the default unless
// [Dialect.WithSettings] changes it.
//
// x-requirement, on a schema of a frame, reply or request: the requirement that is violated if the
// value violates this schema or one inside it, and exercised if the value is present and valid. It
// is either one id, which also applies to the schemas inside, or a map from keyword to id for this
// schema alone (required, type, enum, minimum, maximum, minLength, maxLength, pattern, format, not
// and so on; "required" and "dependent" belong on the missing property). The innermost one wins.
// Every itemSchema has one, so that each violation in a stream has a requirement. An x-requirement
// in a request is exercised if a request with the value is accepted.
//
// x-absent, on a parameter or on a property of a JSON body: the requirement on the meaning of
// requests that leave it out. It is exercised if such a request gets the same response as a request
// with the parameter or property.
//
// The examples of a header parameter without an x-slot are values that a server must accept in any
// request for the operation.
//
// x-without, on an operation: optional request headers, each with the requirement that is
// exercised if a request without the header is accepted. (OpenAPI does not allow parameters
// named Accept, Content-Type or Authorization.)
//
// x-unknown, on the schema of a request body: the requirement that is exercised if a request is
// accepted that has members, at any level, that the document does not name.
//
// x-tolerated, on a property of a request: a list of the forms, "null" or "absent", that this
// document allows for the property although no clause requires a server to accept them. No request
// with such a form is sent.
//
// x-error, on any schema, parameter, request body, media type or operation of a request, or on a
// path item (for undocumented methods): how a request that violates it, or a schema inside it, is
// refused. It is one refusal requirement or a list of them, each of which is judged on its own:
//
//	x-error:
//	  - {requirement: runs.create.thread-uuid, status: 422}
//	  - {requirement: runs.errors.code-run-input, status: 422, code: [A, B]}
//	  - {requirement: runs.errors.text-thread, text: threadId must be a valid UUID}
//
// status is a number, a class ("4XX") or a list of either; the default is any status from 400 on.
// code is one error code, or a list of alternatives. text must occur in the body. "in-band: true"
// also accepts a stream of a single run.refused frame, and "accept: true" any successful response.
// comment explains the entry to the reader of a finding. requirement is an id, or a map from
// keyword to id for this schema alone; an entry whose map lacks the violated keyword is skipped.
// The innermost list with an entry for the violated keyword applies; "inherit: true" as an entry
// adds the next list outward. The x-error of a request body (beside content) applies to an
// unsupported content type, that of a media type (beside schema) to a body that is not valid JSON.
//
// x-utf-8: true, on the media type application/json of a request: a body that is not UTF-8 is refused
// like one that is not JSON. Unless a document says so, no such body is sent, because many servers
// replace invalid bytes before they parse a body.
//
// x-encloses, on variants of the kinds step.start and step.end: the subject of the message that the
// step encloses, which is "reasoning". The reference server sends the step around the messages of
// that subject, with the id of the message.
//
// x-denied, on an operation: how valid requests without permission are refused. It maps each reason
// to one refusal requirement or a list of them, as in x-error. The reasons are nobody (no
// credentials), stranger (credentials that were never issued), other (what the request is about
// belongs to another user) and crowd (too many concurrent streams). "plain: true" requires a
// response that is not an event stream; "with: cursor" limits the entry to requests with this slot.
// The OpenAPI keyword security states which operations require credentials at all.
//
// x-code, on a response: the error code that the reference server sends with this status if
// no x-error gives one. On a variant for failed runs: a map from the status of a run that the
// server ends, such as canceled, to the error code that the reference server sends.
//
// x-max-bytes, on a media type: {limit: 262144, over: 300000, under: 250000, with: {...},
// fill: /pointer}. A body of more than limit bytes violates the document. To test it, "with"
// is merged into a valid body and the string at "fill" is lengthened until the body has
// "over" (or "under") bytes. It may contain an x-error.
//
// # The catalogue
//
// VERSION.requirements.yaml is a list of requirements: id, level, quote, source, and either checks
// or excluded {kind, reason}. A requirement with "of: client" is about clients, which a mock
// judges; the others are about servers. x-requirement and x-error may name only requirements of the
// catalogue that have one of the checks wire.matches-schema, refuse.as-documented or
// accept.as-documented. If several requirements name a check that does not itself tell them apart,
// "about" lists the kinds of events that are evidence for a requirement. The requirements without
// "about" share the other events.
//
// The file may instead be a mapping {extends, without, requirements}. The catalogue then has the
// requirements of the version "extends" except those with the ids in "without", and those in
// "requirements", which replace requirements with the same id.
package dialect
