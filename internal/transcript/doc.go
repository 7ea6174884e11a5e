// Package transcript reads and writes recorded conversations. One text format serves as
// test fixture, recording, bug report and mock script. The package also reads the recordings
// of other tools: the output of curl (.http), bare event streams (.sse) and HTTP archives
// (.har).
//
// It keeps the names of dialects, checks and scenarios without interpreting them. It does
// not judge conversations and does not play mock scripts.
//
// # The file
//
// A transcript is a txtar archive. Its comment has settings, and its sections are the
// requests and responses in order, as sent over the wire:
//
//	The server breaks off after the first event.
//
//	dialect: runs@2026-04
//	want: run.ends
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
// A line that begins with a lower-case word and a colon ("dialect: runs") is a setting,
// anywhere in the comment; an unknown word is an error. All other lines are prose for the
// reader, including those that begin with a capital letter and those that are indented.
//
//	dialect: NAME     the dialect, as on the command line
//	scripted: yes|no  whether the target is known to understand the conformance prompts
//	streams: N        the number of concurrent streams that the target is known to allow a user
//	replay: yes|no    whether a stream without a cursor has the events before its request, too
//	want: CHECK-ID    a check that this conversation is known to fail; may be repeated
//	target: URL       the server that was recorded
//	scenario: NAME    the scenario that was played
//	recorded: TIME    the time of the recording, in RFC 3339
//
// # Requests and responses
//
// A section has a start line, header fields, an empty line and the body. A section 1.request
// without a start line is a request that was not recorded. A section 1.response without one
// means that there was no response; a directive says why. "?" stands for an unknown method,
// "HTTP/?" for an unknown protocol. A request's target may be empty: "POST HTTP/1.1".
//
// The last newline of a section belongs to the body if that is an event stream
// (text/event-stream), and otherwise to the archive. ":@ end" states explicitly where the
// body ends.
//
// # Directives
//
// A line that begins with ":@" is a directive and not part of the message. (To other readers
// of an event stream it is a comment.) Before a start line:
//
//	:@ at 120ms         when the request was sent, since the start of the conversation
//	:@ who nobody       the request was not sent by the primary user: other (a second user),
//	                    nobody (no credentials), stranger (credentials that were never issued),
//	                    longer and shorter (the credentials of the user with another end)
//	:@ framing close    how the end of the body was marked, if the head does not imply it:
//	                    none, length, chunked, close, h2 or unknown
//	:@ lines crlf       the lines of the body end with CR LF instead of LF
//	:@ want CHECK-ID    the check is known to fail at this request, or at the head of this response
//
// In a response's body:
//
//	:@ wait 50ms        the following part arrived this long after the previous one, or
//	                    after the request; parts end at the next wait. A body without
//	                    wait has unknown timing.
//	:@ want CHECK-ID    the check is known to fail at the event that begins here; at the end of
//	                    the body, at that end
//	:@ cut              the connection was closed before the end of the body
//	:@ reset            the connection or the HTTP/2 stream was reset
//	:@ left             the client closed the connection
//	:@ left-after-end   the client closed the connection soon after the end of the run
//	:@ open             the body was still open five seconds after the end of the run
//	:@ idle             the client's idle timeout expired
//	:@ endless          the body exceeded the client's limit
//	:@ not-http         the response is not HTTP
//	:@ end              the body ended here (the default at the end of a section)
//	:@ trailer A: b     a trailer field; follows the end
//
// All ends but ":@ end" may give a reason in parentheses: ":@ idle (silent for 30s)". Ends
// and wait may add "mid-line": the newline before the directive is then not part of the
// body, since a stream can pause and end anywhere.
//
// # What text cannot represent
//
// Lines that a text file would lose or misrepresent (control characters, invalid UTF-8, a
// lone CR, a line that begins with ":@" or looks like "-- name --") are encoded. In a body,
// these directives are exactly the bytes that they decode to, newlines included:
//
//	:@ raw "\x00 in a Go string\r\n"
//	:@ base64 AAECAw==
//
// In a head, raw has the parts of the line as separate strings: method and target; protocol, status
// and reason; name and value.
//
//	:@ raw "X-Name" "caf\xe9"
//
// Format uses these only where necessary and never writes a CR. A file in which every line
// ends with CR LF is therefore read as if they ended with LF, since an editor must have
// converted it.
//
// # Secrets
//
// [Format] writes REDACTED for the values of header fields with credentials and of those in
// [Transcript].RedactHeaders, and wherever one of [Transcript].Secrets occurs, in any of the
// forms that package redact knows. In a body a secret is overwritten byte by byte, so that
// sizes and offsets do not change. All other fields are kept, since omitting one could
// change a verdict.
package transcript
