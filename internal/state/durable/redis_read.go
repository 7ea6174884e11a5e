package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/streamassay/streamassay/internal/state"
)

// Limits of the reply to one request for data: how many events or messages, or how many threads, it
// contains. They keep replies small, because the server does nothing else while it creates one.
const (
	maxReadItems  = 512  // events or messages
	maxThreadPage = 1000 // threads
)

func (s *redisStore) Thread(ctx context.Context, name string) (state.Thread, error) {
	v, err := redis.Values(s.do(ctx, "HMGET", s.key("t:", name), "owner", "tag", "last", "lost"))
	if err != nil {
		return state.Thread{}, err
	}
	if v[0] == nil {
		return state.Thread{}, state.ErrNotFound
	}
	var t state.Thread
	var tag int64
	_, err = scanReply(v, &t.Owner, &tag, &t.LastPosition, &t.LastForgotten)
	t.Tag = uint32(tag) // tags wrap around
	return t, s.wrap(err)
}

// scanReply is like [redis.Scan], but returns errUnexpectedReply if a value for one of the
// variables in to is nil; redis.Scan ignores such values. The result rest has the values for which
// there is no variable.
func scanReply(reply []any, to ...any) (rest []any, err error) {
	if slices.Contains(reply[:min(len(to), len(reply))], nil) {
		return reply, errUnexpectedReply
	}
	return redis.Scan(reply, to...)
}

// afterScript returns the events of a run beyond a position. Its arguments are thread, run,
// position, limit (in events), and bytes (the limit on the size of all returned events, which only
// the first one may exceed). The reply is {'unknown'} if there is no such run. Otherwise it is
// {'found', over, complete, id, event, id, event, ...}, where over is '1' if the run has ended, and
// complete is '1' if no stored event follows; otherwise, they are '0'. The script reads everything
// atomically, because otherwise an event added between two reads would be missed.
var afterScript = redis.NewScript(1, "#!lua flags=no-writes\n"+scriptPrelude+`
local at, most, bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local v = call('HMGET', r, 'over', 'top', 'count', 'size')
if not v[1] then return {'unknown'} end
local top = tonumber(v[2])
local reply = {'found', v[1], '0'}
if at < top and most > 0 then
  -- Estimate from the average size how many events fit.
  most = math.min(most, math.max(1, math.floor(bytes * v[3] / math.max(1, v[4]))))
  local size = 0
  for i, entry in ipairs(call('XRANGE', e, place(at + 1), '+', 'COUNT', most)) do
    size = size + #entry[2][2]
    if i > 1 and size > bytes then break end
    reply[#reply + 1], reply[#reply + 2] = entry[1], entry[2][2]
    at = tonumber(entry[1]:match('^%d+'))
  end
end
if at >= top then reply[3] = '1' end
return reply
`)

func (s *redisStore) EventsAfter(ctx context.Context, run state.RunRef, position int64, limit int) (
	entries []state.LogEntry, ended bool, err error,
) {
	reply, err := s.runScript(ctx, afterScript,
		run.Thread, run.Run, position, min(limit, maxReadItems), state.MaxReadBytes)
	if err != nil {
		return nil, false, err
	}
	if len(reply) == 1 { // {'unknown'}
		return nil, false, state.ErrNotFound
	}
	var complete bool
	reply, err = redis.Scan(reply, nil, &ended, &complete)
	for err == nil && len(reply) > 0 {
		var id string
		var entry state.LogEntry
		if reply, err = redis.Scan(reply, &id, &entry.Data); err == nil {
			entry.Position, err = parseStreamID(id)
		}
		entries = append(entries, entry)
	}
	if err != nil {
		return nil, false, s.wrap(err)
	}
	return entries, ended && complete, nil
}

func (s *redisStore) Messages(ctx context.Context, thread string, before int64, limit int) ([]state.Message, error) {
	last, err := s.hashNumber(ctx, s.key("t:", thread), "said")
	if err != nil {
		return nil, err
	}
	if before > 0 {
		last = min(last, before-1)
	}
	return s.messages(ctx, thread, max(1, last-int64(limit)+1), last) // numbers are consecutive
}

// hashNumber returns the number in a field of the Redis hash with the given key, or 0 if the field
// does not exist. The key includes the prefix of the store. hashNumber returns an error if the
// server fails or the field is not a number.
func (s *redisStore) hashNumber(ctx context.Context, key, field string) (int64, error) {
	n, err := redis.Int64(s.do(ctx, "HGET", key, field))
	if errors.Is(err, redis.ErrNil) {
		return 0, nil
	}
	return n, err
}

func (s *redisStore) DayMessages(ctx context.Context, thread, before string) (
	day string, messages []state.Message, more bool, err error,
) {
	latest := "+"
	if before != "" {
		latest = "(" + before
	}
	days, err := redis.Strings(s.do(ctx, "ZRANGE", s.key("d:", thread), latest, "-", "BYLEX", "REV", "LIMIT", 0, 2))
	if err != nil || len(days) == 0 {
		return "", nil, false, err
	}
	bounds, err := redis.Int64s(s.do(ctx, "HMGET", s.key("t:", thread), "a"+days[0], "z"+days[0]))
	if err != nil {
		return "", nil, false, err
	}
	messages, err = s.messages(ctx, thread, bounds[0], bounds[1])
	messages = slices.DeleteFunc(messages, func(m state.Message) bool {
		// The clocks of replicas differ, so days may overlap.
		return m.Hidden || m.Day() != days[0]
	})
	if err != nil || len(messages) == 0 { // dropped since the first query
		return "", nil, false, err
	}
	return days[0], messages, len(days) > 1, nil
}

// LatestThread implements [state.Store]. It reads the owner's threads in pages, in the order of
// their latest runs, newest first. A run that starts during the search moves its thread to the
// beginning of that order, so LatestThread repeats the search for new runs until there are none.
func (s *redisStore) LatestThread(ctx context.Context, owner, prefix string) (thread string, err error) {
	for seen := "-inf"; ; {
		name, front, err := s.scanLatest(ctx, owner, prefix, seen)
		if err != nil {
			return "", err
		}
		if thread = cmp.Or(name, thread); front == seen {
			return thread, nil
		}
		seen = front
	}
}

// scanLatest returns the owner's thread in which a run was started most recently, among the threads
// whose names begin with prefix. It returns "" if there is none. The score of a thread is the
// number of its latest run. Only threads with scores above seen are considered; seen is "-inf" or
// "(" followed by a score, as in a Redis range.
//
// The result front is the value of seen for the next scan, which considers only threads in which a
// run was started after this scan began. If front equals seen, there were no threads to consider.
// The error is any error from the server.
func (s *redisStore) scanLatest(ctx context.Context, owner, prefix, seen string) (thread, front string, err error) {
	front = seen
	for below := "+inf"; ; {
		page, err := redis.Strings(s.do(ctx, // names and scores, alternately
			"ZRANGE", s.key("o:", owner), below, seen, "BYSCORE", "REV", "LIMIT", 0, maxThreadPage, "WITHSCORES"))
		if err != nil {
			return "", "", err
		}
		for i := 0; i < len(page); i += 2 {
			if strings.HasPrefix(page[i], prefix) {
				return page[i], front, nil
			}
		}
		if len(page) == 0 {
			return "", front, nil
		}
		if below == "+inf" {
			front = "(" + page[1]
		}
		below = "(" + page[len(page)-1]
	}
}

// messages returns the messages of a thread whose numbers are at least from and at most to, in
// ascending order. It reads them in pages of maxReadItems. It returns an error if the server fails
// or a message cannot be decoded.
func (s *redisStore) messages(ctx context.Context, thread string, from, to int64) ([]state.Message, error) {
	var messages []state.Message
	for from <= to {
		page, err := s.messagePage(ctx, thread, from, to)
		if err != nil {
			return nil, err
		}
		if messages = append(messages, page...); len(page) < maxReadItems {
			return messages, nil
		}
		from = page[len(page)-1].Seq + 1
	}
	return messages, nil
}

func (s *redisStore) messagePage(ctx context.Context, thread string, from, to int64) ([]state.Message, error) {
	found, err := redis.Values(s.do(ctx, "XRANGE", s.key("m:", thread), from, to, "COUNT", maxReadItems))
	if err != nil {
		return nil, err
	}
	messages := make([]state.Message, len(found))
	for i, entry := range found {
		id, data, err := parseStreamEntry(entry)
		if err == nil {
			err = json.Unmarshal(data, &messages[i])
		}
		if err != nil {
			return nil, s.wrap(fmt.Errorf("message %s: %w", id, err))
		}
		if messages[i].Seq, err = parseStreamID(id); err != nil {
			return nil, s.wrap(err)
		}
	}
	return messages, nil
}

// parseStreamEntry returns the id of an entry in a reply to XRANGE, and the value of its only
// field. It returns an error if the entry does not have exactly one field.
func parseStreamEntry(entry any) (id string, value []byte, err error) {
	var fields any
	pair, err := redis.Values(entry, nil)
	if err == nil {
		_, err = redis.Scan(pair, &id, &fields)
	}
	texts, err := redis.ByteSlices(fields, err)
	if err == nil && len(texts) != 2 {
		err = errUnexpectedReply
	}
	if err != nil {
		return id, nil, err
	}
	return id, texts[1], nil
}

// parseStreamID returns the number that precedes the hyphen in the id of a stream entry. It returns
// an error if there is no such number.
func parseStreamID(id string) (int64, error) {
	number, _, _ := strings.Cut(id, "-")
	return strconv.ParseInt(number, 10, 64)
}
