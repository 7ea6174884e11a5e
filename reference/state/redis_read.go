package state

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Bounds of one round trip.
const (
	maxReadItems  = 512  // events or messages, at most
	maxThreadPage = 1000 // threads
)

func (s *redisStore) Thread(ctx context.Context, name string) (Thread, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	v, err := s.client.HMGet(ctx, s.key("t:", name), "owner", "tag", "last", "lost").Result()
	if err != nil {
		return Thread{}, s.wrap(err)
	}
	if v[0] == nil {
		return Thread{}, ErrNotFound
	}
	a := scriptReply{values: v}
	t := Thread{Owner: a.nextText(), Tag: uint32(a.nextNumber()), LastPosition: a.nextNumber(), LastForgotten: a.nextNumber()} // tags may go round
	return t, s.wrap(a.err)
}

// afterScript takes thread run, a place, and how many at most and of how many bytes. It
// looks whether the run is over and what there is of it in one moment, or an event
// between the two would be missed.
var afterScript = redis.NewScript("#!lua flags=no-writes\n" + scriptPrelude + `
local at, most, bytes = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local v = call('HMGET', r, 'over', 'top', 'count', 'size')
if not v[1] then return {'unknown'} end
local top = tonumber(v[2])
local reply = {'found', v[1], '0'}
if at < top and most > 0 then
  -- Some may be large: go by what they are on average.
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

func (s *redisStore) EventsAfter(ctx context.Context, run RunRef, at int64, most int) (entries []LogEntry, over bool, err error) {
	reply, err := s.runScript(ctx, afterScript, run.Thread, run.Run, at, min(most, maxReadItems), MaxReadBytes)
	if err != nil {
		return nil, false, err
	}
	a := scriptReply{values: reply}
	if a.nextText() == "unknown" {
		return nil, false, ErrNotFound
	}
	over, all := a.nextText() == "1", a.nextText() == "1"
	for len(a.values) > 0 {
		id, _, _ := strings.Cut(a.nextText(), "-")
		if at, err = strconv.ParseInt(id, 10, 64); err != nil {
			return nil, false, s.wrap(err)
		}
		entries = append(entries, LogEntry{Position: at, Data: []byte(a.nextText())})
	}
	if a.err != nil {
		return nil, false, s.wrap(a.err)
	}
	return entries, over && all, nil
}

func (s *redisStore) Messages(ctx context.Context, thread string, before int64, most int) ([]Message, error) {
	last, err := s.hashNumber(ctx, s.key("t:", thread), "said")
	if err != nil {
		return nil, err
	}
	if before > 0 {
		last = min(last, before-1)
	}
	return s.messages(ctx, thread, max(1, last-int64(most)+1), last) // no number is left out
}

// hashNumber reads one of a hash; it is 0 if it is not there.
func (s *redisStore) hashNumber(ctx context.Context, key, field string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	n, err := s.client.HGet(ctx, key, field).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, s.wrap(err)
}

func (s *redisStore) DayMessages(ctx context.Context, thread, before string) (day string, said []Message, more bool, err error) {
	days, err := s.latestDays(ctx, thread, before)
	if err != nil || len(days) == 0 {
		return "", nil, false, err
	}
	from, err := s.hashNumber(ctx, s.key("t:", thread), "a"+days[0])
	if err != nil {
		return "", nil, false, err
	}
	to, err := s.hashNumber(ctx, s.key("t:", thread), "z"+days[0])
	if err != nil {
		return "", nil, false, err
	}
	said, err = s.messages(ctx, thread, from, to)
	said = slices.DeleteFunc(said, func(m Message) bool { // clocks differ: days may overlap
		return m.Hidden || dayOf(m) != days[0]
	})
	if err != nil || len(said) == 0 { // forgotten meanwhile
		return "", nil, false, err
	}
	return days[0], said, len(days) > 1, nil
}

// latestDays lists the latest two days before a day.
func (s *redisStore) latestDays(ctx context.Context, thread, before string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	latest := "+"
	if before != "" {
		latest = "(" + before
	}
	days, err := s.client.ZRangeArgs(ctx, redis.ZRangeArgs{Key: s.key("d:", thread), Start: latest, Stop: "-", ByLex: true, Rev: true, Count: 2}).Result()
	return days, s.wrap(err)
}

// LatestThread looks at the owner's threads, the latest first, a page at a time. Those in
// which a run is begun meanwhile go to the front, so it looks there again.
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

// scanLatest is the latest of those that were not seen, and what has been seen after it.
func (s *redisStore) scanLatest(ctx context.Context, owner, prefix, seen string) (thread, front string, err error) {
	front = seen
	for below := "+inf"; ; {
		page, err := s.threadPage(ctx, owner, below, seen)
		if err != nil {
			return "", "", err
		}
		for _, z := range page {
			if name, _ := z.Member.(string); strings.HasPrefix(name, prefix) {
				return name, front, nil
			}
		}
		if len(page) == 0 {
			return "", front, nil
		}
		if below == "+inf" {
			front = exclusiveBound(page[0])
		}
		below = exclusiveBound(page[len(page)-1])
	}
}

// exclusiveBound is a bound that leaves a thread out.
func exclusiveBound(z redis.Z) string { return "(" + strconv.FormatInt(int64(z.Score), 10) }

func (s *redisStore) threadPage(ctx context.Context, owner, below, seen string) ([]redis.Z, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	page, err := s.client.ZRevRangeByScoreWithScores(ctx, s.key("o:", owner),
		&redis.ZRangeBy{Min: seen, Max: below, Count: maxThreadPage}).Result()
	return page, s.wrap(err)
}

// messages reads those with numbers in a range, one round trip's worth at a time.
func (s *redisStore) messages(ctx context.Context, thread string, from, to int64) ([]Message, error) {
	var said []Message
	for from <= to {
		page, err := s.messagePage(ctx, thread, from, to)
		if err != nil {
			return nil, err
		}
		if said = append(said, page...); len(page) < maxReadItems {
			return said, nil
		}
		from = page[len(page)-1].Seq + 1
	}
	return said, nil
}

func (s *redisStore) messagePage(ctx context.Context, thread string, from, to int64) ([]Message, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	found, err := s.client.XRangeN(ctx, s.key("m:", thread), streamID(from), streamID(to), maxReadItems).Result()
	if err != nil {
		return nil, s.wrap(err)
	}
	said := make([]Message, len(found))
	for i, x := range found {
		text, _ := x.Values["m"].(string)
		if err := json.Unmarshal([]byte(text), &said[i]); err != nil {
			return nil, s.wrap(fmt.Errorf("message %s: %w", x.ID, err))
		}
		id, _, _ := strings.Cut(x.ID, "-")
		if said[i].Seq, err = strconv.ParseInt(id, 10, 64); err != nil {
			return nil, s.wrap(err)
		}
	}
	return said, nil
}

func streamID(n int64) string { return strconv.FormatInt(n, 10) + "-0" }
