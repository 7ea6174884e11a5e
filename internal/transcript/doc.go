// Package transcript reads and writes recorded conversations. One text format
// serves as fixture, recording, bug report and mock script, so any of them can
// become any other. The package also reads what other tools record: the output of
// curl (.http), bare streams (.sse) and HTTP archives (.har).
//
// It does not know what a dialect, a check or a scenario is: it carries their
// names. It does not judge, and it does not know how a mock plays a script.
//
// # The file
//
// A transcript is a txtar archive. Its comment says what to make of it, and its
// sections are the messages in turn, as they went over the wire:
//
//	The server breaks off after the first event.
//
//	dialect: runs@2026-04
//	want: http.stream-ends
//	-- 1.request --
//	POST /runs HTTP/1.1
//	Content-Type: application/json
//
//	{"threadId":"t1"}
//	-- 1.response --
//	HTTP/1.1 200 OK
//	Content-Type: text/event-stream
//
//	data: {"type":"RUN_STARTED"}
//
//	:@ cut
//
// # The comment
//
// A line that begins with a lower-case word and a colon ("dialect: runs") is a
// setting, wherever in the comment it stands; a word that is none of those below
// is an error. Every other line is prose for the reader: so is one that begins
// with a capital, and one that is indented, whatever it says.
//
//	dialect: NAME     the protocol, as the command line spells it
//	scripted: yes|no  whether the target is known to understand the conformance prompts
//	streams: N        how many streams at once the target is known to allow one user
//	want: CHECK-ID    a check that this conversation is known to break; any number of them
//	target: URL       the server that was recorded
//	scenario: NAME    what made it talk
//	recorded: TIME    when, in RFC 3339
//
// # Messages
//
// A section is a start line, header fields, an empty line and the body. A section
// 1.request without a start line: nobody wrote the request down. A section
// 1.response without one: no answer came, and a direction says why. "?" is an
// unknown method, "HTTP/?" an unknown protocol. A request's target may be empty:
// "POST HTTP/1.1".
//
// The last newline of a section is the body's if the message is an event stream
// (text/event-stream), and the archive's otherwise; ":@ end" settles it.
//
// # Directions
//
// A line that begins with ":@" is a direction and no part of the message; in an
// event stream, every other reader takes it for a comment. Before a start line:
//
//	:@ at 120ms         the request was sent so long after the conversation began
//	:@ who nobody       the request is not the user's but of somebody else: other (a second
//	                    user), nobody (without credentials), stranger (with credentials
//	                    that nobody handed out)
//	:@ framing close    how the end of the body was marked, where the head does not
//	                    say it: none, length, chunked, close, h2 or unknown
//	:@ lines crlf       the lines of the body end with CR LF instead of LF
//
// In a response's body:
//
//	:@ wait 50ms        what follows arrived so long after what precedes; the first
//	                    counts from the request. What stands between two of them
//	                    arrived at once. Without any, nobody timed the body.
//	:@ cut              the connection ended before the body did
//	:@ reset            the connection or the HTTP/2 stream was reset
//	:@ left             the client hung up
//	:@ idle             nothing came for longer than the client would wait
//	:@ endless          the body went over the client's limit
//	:@ not-http         what came cannot be read as HTTP
//	:@ end              the body ended here, as it would without saying so
//	:@ trailer A: b     a trailer field; after the end
//
// The ends may give a reason in parentheses: ":@ idle (silent for 30s)". They and
// wait may add mid-line: then the newline before them is not part of the body, for
// a stream can pause and end anywhere.
//
// # What text cannot hold
//
// Lines that a text file would lose or mistake (control characters, invalid UTF-8,
// a lone CR, a line that begins with ":@" or looks like "-- name --") are spelled
// out. In a body, these are exactly the bytes they decode to, newline included:
//
//	:@ raw "\x00 in a Go string\r\n"
//	:@ base64 AAECAw==
//
// Among start line and fields, raw takes the parts of the line one by one: method
// and target; protocol, status and reason; name and value.
//
//	:@ raw "X-Name" "caf\xe9"
//
// Format writes these only where they are needed, never a CR, and so a file all
// of whose lines end with CR LF is read as if they ended with LF: an editor did that.
//
// # Secrets
//
// [Format] writes REDACTED for the values of fields that carry credentials and of
// those that [Transcript].Redact names, and wherever one of [Transcript].Secrets
// occurs, in any of the forms that package redact knows. In a body the secret is
// replaced byte by byte, with REDACTED and asterisks: its size, and the offsets in it,
// stay. All other fields are kept: leaving one out could change a verdict.
package transcript
