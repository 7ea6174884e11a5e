package rules

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var historyUnsentChecks = []*spec.Check{
	HistoryHasSentPromptsOnly, HistoryHasStreamedAnswersOnly, HistoryHasSentImagesOnly, HistoryLinkOpens,
}

// A sentPrompt describes a user's message in a request: its text, without white space, and whether
// it had images.
type sentPrompt struct {
	text      string
	hasImages bool
}

// resembles reports whether a message in a history may be a stored copy of the prompt s. The
// argument text is the text of the message, without white space. The texts need not be equal,
// because a server may join the blocks of a prompt in any way: it is enough that one text contains
// the other, or that both begin with the same 12 bytes.
func (s sentPrompt) resembles(text string) bool {
	const enough = 12 // bytes at the start
	return strings.Contains(text, s.text) || strings.Contains(s.text, text) ||
		len(s.text) >= enough && strings.HasPrefix(text, s.text[:enough])
}

// WithoutSpace returns text without its white space. Servers may join the parts of a text with any
// white space, so texts are compared without it.
func WithoutSpace(text string) string { return strings.Join(strings.Fields(text), "") }

// eachStoredPrompt returns a newWatcherFunc that, at the end of a conversation, calls judge for
// each user message m in the histories of threads that are known to be new. The argument page is
// the history that contains m. Histories of earlier days are left out.
//
// The argument sent lists the prompts of the conversation with the text of m or, if there are none,
// those that resemble m; see sentPrompt.resembles. Prompts that the server denied with status 401
// or 403 are not listed. If m has the text of a denied prompt and of no other prompt, sent is
// empty.
func eachStoredPrompt(judge func(p *spec.Pass, page, m spec.Event, sent []sentPrompt)) newWatcherFunc {
	return func(p *spec.Pass) func(spec.Event) {
		var sent []sentPrompt
		added := 0                  // the number of prompts that the current request added to sent
		denied := map[string]bool{} // texts of prompts of denied requests
		watch := atConversationEnd(func(p *spec.Pass, c *runsAndHistories) {
			for _, x := range c.historyExchanges {
				page, ok := x.page()
				if !ok || x.request.Day != "" || !c.isNewThread(page.Thread) {
					continue
				}
				for _, m := range page.PartsOf(spec.HistoryUser) {
					text := WithoutSpace(m.Text)
					isSent := slices.ContainsFunc(sent, func(s sentPrompt) bool { return s.text == text })
					judge(p, page, m, slices.DeleteFunc(slices.Clone(sent), func(s sentPrompt) bool {
						return denied[text] && !isSent || isSent && s.text != text || !s.resembles(text)
					}))
				}
			}
		})(p)
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				added = 0
				for _, m := range e.PartsOf(spec.InputUser) {
					s := sentPrompt{WithoutSpace(m.Text), len(m.PartsOf(spec.InputImage)) > 0}
					if !slices.Contains(sent, s) {
						sent, added = append(sent, s), added+1
					}
				}
			case e.Kind == spec.HTTPResponse && (e.StatusCode == 401 || e.StatusCode == 403):
				for _, s := range sent[len(sent)-added:] { // not prompts of the user
					denied[s.text] = true
				}
				sent = sent[:len(sent)-added]
			}
			watch(e)
		}
	}
}

// isNewThread reports whether it is known that the given thread did not exist before the
// conversation. It returns false if thread is "" or if no run of the thread was accepted.
func (c *runsAndHistories) isNewThread(thread string) bool {
	i := slices.IndexFunc(c.runs, func(r *acceptedRun) bool { return r.request.Thread == thread })
	if thread == "" || i < 0 || !c.isFirstInThread(c.runs[i]) {
		return false
	}
	return c.runs[i].acceptance.Created == "true" || c.hadNoHistory(c.runs[i])
}

// These checks judge whether a history contains a prompt or an image that was not sent.
var (
	// HistoryHasSentPromptsOnly judges whether each user message of a history resembles a prompt of
	// the conversation that was sent and not denied; see eachStoredPrompt.
	HistoryHasSentPromptsOnly = &spec.Check{
		ID: "history.tells-only-sent-prompts",
		Doc: `the user messages of a history are those that the user sent

This is judged for threads that are known to be new, except for the pages of earlier days. A message
need only resemble a prompt; other checks judge its exact text. A prompt that the server denied with
status 401 or 403 counts as not sent.`,
		Needs: []spec.Kind{spec.History, spec.HistoryUser, spec.RunAccepted}, AllPrincipals: true,
		Watch: eachStoredPrompt(func(p *spec.Pass, page, m spec.Event, sent []sentPrompt) {
			p.Judge(page, len(sent) > 0,
				"history has the user message %q; expected only prompts that were sent and not denied (401, 403)",
				m.Text)
		}),
	}
	// HistoryHasSentImagesOnly judges whether each user message that has images in a history
	// resembles a prompt that was sent with images. Messages that resemble no prompt are left to
	// HistoryHasSentPromptsOnly.
	HistoryHasSentImagesOnly = &spec.Check{
		ID: "history.tells-only-sent-images",
		Doc: `a history has images only for messages that were sent with images

This is judged for threads that are known to be new, except for the pages of earlier days.`,
		Needs: []spec.Kind{spec.History, spec.HistoryImage, spec.RunAccepted},
		Watch: eachStoredPrompt(func(p *spec.Pass, page, m spec.Event, sent []sentPrompt) {
			hadImages := slices.ContainsFunc(sent, func(s sentPrompt) bool { return s.hasImages })
			if n := len(m.PartsOf(spec.HistoryImage)); len(sent) > 0 && n > 0 {
				p.Judge(page, hadImages, "history has %s with the prompt %q, which was sent without any; expected none",
					pluralize(n, "image"), m.Text)
			}
		}),
	}
)

// HistoryHasStreamedAnswersOnly judges whether each message of the assistant in a history has text
// that the server streamed.
var HistoryHasStreamedAnswersOnly = &spec.Check{
	ID: "history.tells-only-answers",
	Doc: `the assistant messages of a history are answers that were streamed

This is judged for scripted targets and for threads that are known to be new, if the streams of all
their runs were read to the end, except for the pages of earlier days. A message need only contain a
streamed text, or be part of one; other checks judge its exact text. A message without text is not
judged, nor is one before the first message of the user, such as a greeting.`,
	Needs: []spec.Kind{spec.History, spec.HistoryAssistant, spec.MessageDelta, spec.RunAccepted}, AllPrincipals: true,
	Watch: eachHistoryPage(func(p *spec.Pass, c *runsAndHistories, x *exchange, page spec.Event) {
		sent, known := c.sentTexts(x, page.Thread)
		if !known || !x.request.Facts().Scripted || x.request.Day != "" {
			return
		}
		var answers []string // without white space
		for streamed := range sent {
			if streamed.kind == spec.HistoryAssistant {
				answers = append(answers, WithoutSpace(streamed.text))
			}
		}
		for i, m := range page.Parts {
			text := WithoutSpace(m.Text)
			if m.Kind != spec.HistoryAssistant || text == "" || isGreeting(page, i) {
				continue
			}
			isStreamed := slices.ContainsFunc(answers, func(answer string) bool {
				return strings.Contains(answer, text) || answer != "" && strings.Contains(text, answer)
			})
			p.Judge(page, isStreamed, "history has the assistant message %q; expected only answers that were streamed", m.Text)
		}
	}),
}

// isGreeting reports whether the message with index i on page is older than all messages of the
// user. A page may begin with its oldest or with its newest message; the sequence numbers show
// which.
func isGreeting(page spec.Event, i int) bool {
	isUser := func(m spec.Event) bool { return m.Kind == spec.HistoryUser }
	first, _ := strconv.ParseFloat(page.Parts[0].Seq, 64) // 0 if it is invalid
	last, _ := strconv.ParseFloat(page.Parts[len(page.Parts)-1].Seq, 64)
	if first > last {
		return !slices.ContainsFunc(page.Parts[i:], isUser)
	}
	return !slices.ContainsFunc(page.Parts[:i], isUser)
}

// HistoryLinkOpens judges whether a request for the link to an image in a history returns status
// 200 and the file that was sent with the message. If the bytes of that file are not known, the
// response may be any file that was uploaded in the conversation.
var HistoryLinkOpens = &spec.Check{
	ID: "history.links-open",
	Doc: `the link to an image in a history returns the image

The link must be a URL with a scheme, or begin with a slash. The response must be the file that was
sent with the message. If that file was not uploaded in the
conversation, any uploaded file is accepted. The link must work without credentials; the suite sends
none. Not judged: a 4xx status for a link that is more than 30 seconds old, redirects, and responses
with status 429 or 503.`,
	Needs: []spec.Kind{spec.HistoryImage, spec.InputFile}, AllPrincipals: true,
	Watch: eachExchange(func(p *spec.Pass) func(exchange) {
		type historyLink struct {
			at   time.Duration // time of the last history with the link
			text string        // text of its message, without white space
		}
		uploads, links, sent := exchangesOf(p).uploads, map[string]historyLink{}, sentImages{}
		return func(x exchange) {
			sent.add(x.request, uploads)
			if x.reply.Kind == spec.History {
				for _, m := range x.reply.Parts {
					for _, image := range m.PartsOf(spec.HistoryImage) {
						if !isLink(image.Text) {
							p.Judge(x.reply, false,
								"history has %q as the link to an image; expected an absolute URL, or a path that begins with a slash",
								image.Text)
						}
						links[withoutFragment(image.Text)] = historyLink{x.reply.At, WithoutSpace(m.Text)}
					}
				}
			}
			link, isRequested := links[x.request.ID]
			status := x.status()
			late := status/100 == 4 && x.request.At-link.at > maxLinkAge
			unrelated := status/100 == 3 || isRequestIndependentStatus(status) && status != 401
			if !isRequested || x.bodyEnd.Err != nil || unrelated || late || x.request.Operation != "" {
				return
			}
			isFile := x.reply.Kind != spec.AttachmentContent || sent.mayBe(link.text, x.reply.Text, uploads)
			got := pluralize(len(x.reply.Text), "byte")
			if !isFile && uploads.hasFile(x.reply.Text) {
				got = "another uploaded file"
			}
			p.Judge(x.response, status == 200 && isFile,
				"link to an image in the history returned status %d with %s; expected status 200 with the file sent with the message",
				status, got)
		}
	}),
}

// isLink reports whether s is a URL with a scheme, or a URL without one that begins with a slash.
func isLink(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme != "" || strings.HasPrefix(s, "/"))
}

// A sentImages maps the text of each message of a conversation, without white space, to the bytes
// of the image files that were sent with it. The element "" stands for a file that is not known.
type sentImages map[string][]string

// add adds the images in the user messages of request. The argument uploads contains the files to
// which their links lead, as far as these files are known.
func (s sentImages) add(request spec.Event, uploads *knownUploads) {
	for _, m := range request.PartsOf(spec.InputUser) {
		for _, image := range m.PartsOf(spec.InputImage) {
			file := "" // of a link that no reply issued
			if link := uploads.links[withoutFragment(image.Text)]; link.hasFile {
				file = link.file
			}
			s[WithoutSpace(m.Text)] = append(s[WithoutSpace(m.Text)], file)
		}
	}
}

// mayBe reports whether file, the bytes of a file, can be an image of the message with the given
// text, which must be without white space. If all files that were sent with that text are known,
// only these can be images of the message. If one of them is not known, or if no file was sent with
// the text, any uploaded file can be one.
func (s sentImages) mayBe(text, file string, uploads *knownUploads) bool {
	if len(s[text]) == 0 || slices.Contains(s[text], "") {
		return uploads.hasFile(file)
	}
	return slices.Contains(s[text], file)
}
