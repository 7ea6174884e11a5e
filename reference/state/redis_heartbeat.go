package state

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxTakeover bounds how many runs are taken over in one round trip.
const maxTakeover = 100

// A heartbeat says, again and again, that this replica is there. It is kept as a time in
// a hash, not as a key that expires: a server that is short of memory may drop such
// keys first, and what is listed there is also who has runs at all.
type heartbeat struct {
	store  *redisStore
	client *redis.Client // of its own: it waits for nobody, and soon notices that the server is back
	halt   chan struct{} // closed, it ends; others will think that this replica is dead

	mu                    sync.Mutex
	lastBeat, steadySince int64 // when the server heard the last beat, and since when none was missing: its clock, in ms
}

func newHeartbeat(s *redisStore, db *redis.Client) *heartbeat {
	return &heartbeat{store: s, client: db, halt: make(chan struct{})}
}

// beatScript takes two unused, replica dead. It says when it was.
var beatScript = redis.NewScript("#!lua\n" + scriptPrelude + clockScript + `
local now = now()
call('HSET', P .. 'beats', ARGV[3], now + ARGV[4])
return {now}
`)

func (p *heartbeat) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(p.store.cfg.DeadAfter/3, 200*time.Millisecond))
	defer cancel()
	dead := p.store.cfg.DeadAfter.Milliseconds()
	reply, err := p.store.runScriptOn(ctx, p.client, beatScript, "", "", p.store.replica, dead)
	if err != nil {
		return err
	}
	now, _ := reply[0].(int64)
	p.mu.Lock()
	defer p.mu.Unlock()
	if now-p.lastBeat > dead/2 {
		p.steadySince = now
	}
	p.lastBeat = now
	return nil
}

func (p *heartbeat) run(ctx context.Context) {
	for wait := p.store.cfg.DeadAfter / 3; ; {
		select {
		case <-time.After(wait):
		case <-p.halt:
			return
		case <-ctx.Done():
			return
		}
		if wait = p.store.cfg.DeadAfter / 3; p.beat(ctx) != nil {
			wait = p.store.cfg.DeadAfter / 10
		}
	}
}

// steadiness is since when the server was there without a break, and when that was known.
func (p *heartbeat) steadiness() (since, known int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steadySince, p.lastBeat
}

// leaveScript takes two unused, replica. At 0 nobody waits for it any more.
var leaveScript = redis.NewScript("#!lua\n" + scriptPrelude + `
local beats, me = P .. 'beats', ARGV[3]
call('HSET', beats, me, 0)
if call('SCARD', P .. 'live:' .. me) == 0 then call('HDEL', beats, me) end
call('UNLINK', P .. 'got:' .. me)
return {}
`)

func (p *heartbeat) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = p.store.runScriptOn(ctx, p.client, leaveScript, "", "", p.store.replica) // if it fails the others wait a little
	_ = p.client.Close()                                                            // nothing is under way
}

// takeover is what this replica takes over, one call after the other.
type takeover struct {
	mu           sync.Mutex
	pendingToken string // of a call whose answer is not known
}

// takeoverScript takes two unused, replica token most since known dead. What was given for
// a token is given again for it: a run whose taker does not know of it would never end.
//
// Who was not heard of is dead only if the server was there to hear him. While it was
// away, or stood still, nobody could say that he is alive, so all get that time again:
// the taker must have been heard without a break for as long, up to now.
var takeoverScript = redis.NewScript("#!lua\n" + scriptPrelude + clockScript + `
local me, token, most = ARGV[3], ARGV[4], tonumber(ARGV[5])
local got, beats, time, taken = P .. 'got:' .. me, P .. 'beats', now(), {}
if call('LINDEX', got, 0) == token then
  for _, id in ipairs(call('LRANGE', got, 1, -1)) do
    if call('HGET', P .. 'r:' .. id, 'by') == me then taken[#taken + 1] = id end
  end
  return taken
end
call('DEL', got)
local steady = time - ARGV[6] >= tonumber(ARGV[8]) and time - ARGV[7] <= ARGV[8] / 2
local all = call('HGETALL', beats)
for i = 1, #all, 2 do
  local who, till = all[i], tonumber(all[i+1])
  if who ~= me and (till == 0 or steady and till < time) then
    for _, id in ipairs(call('SPOP', P .. 'live:' .. who, most - #taken)) do
      call('HSET', P .. 'r:' .. id, 'by', me)
      call('SADD', P .. 'live:' .. me, id)
      taken[#taken + 1] = id
    end
    if call('SCARD', P .. 'live:' .. who) == 0 then
      call('HDEL', beats, who)
      call('UNLINK', P .. 'got:' .. who)
    end
  end
end
if #taken > 0 then call('RPUSH', got, token, unpack(taken)) end
return taken
`)

func (s *redisStore) ClaimOrphans(ctx context.Context) ([]RunRef, error) {
	t := &s.takeover
	t.mu.Lock()
	defer t.mu.Unlock()
	runs := s.resolveUncertain(ctx)
	for {
		if t.pendingToken == "" {
			t.pendingToken = s.nextToken()
		}
		since, known := s.heartbeat.steadiness()
		ids, err := s.runScript(ctx, takeoverScript, "", "", s.replica, t.pendingToken, maxTakeover, since, known, s.cfg.DeadAfter.Milliseconds())
		if err != nil && len(runs) == 0 {
			return nil, err
		}
		if err != nil {
			return runs, nil // these are taken; the rest comes the next time
		}
		t.pendingToken = ""
		for _, id := range ids {
			text, _ := id.(string)
			if run, ok := parseRunRef(text); ok {
				runs = append(runs, run)
			}
		}
		if len(ids) < maxTakeover {
			return runs, nil
		}
	}
}
