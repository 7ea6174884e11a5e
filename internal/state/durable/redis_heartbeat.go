package durable

import (
	"context"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/streamassay/streamassay/internal/state"
)

// maxTakeover is the maximum number of runs of dead replicas that one call of takeoverScript
// assigns to this replica. It is also the maximum number of runs that one call of resolveUncertain
// checks.
const maxTakeover = 100

// A replicaHeartbeat periodically records in a Redis hash that this replica is alive, together with
// the time after which the replica counts as dead. A key with an expiry time would not be reliable,
// because a server that is short of memory may evict it earlier. The hash is also the list of the
// replicas that may have runs.
type replicaHeartbeat struct {
	store  *redisStore
	client *redisClient  // separate, so that heartbeats do not wait for other calls; closed by leave
	halt   chan struct{} // closed by tests to simulate the death of this replica

	mu          sync.Mutex
	lastBeat    int64 // time of the last heartbeat by the clock of the Redis server, in Unix milliseconds
	steadySince int64 // time since which no heartbeat was late, by the same clock; see steadiness
}

// beatScript records a heartbeat of a replica and returns the time of the server's clock in ms. Its
// first two arguments are not used and must be empty. The third is the replica, and the fourth is
// the time in ms, counted from this heartbeat, after which the replica counts as dead.
var beatScript = redis.NewScript(1, "#!lua\n"+scriptPrelude+clockScript+`
local now = now()
call('HSET', P .. 'beats', ARGV[3], now + ARGV[4])
return {now}
`)

// beat records one heartbeat on the server and updates the times that steadiness returns. It
// returns an error if the server did not confirm the heartbeat.
func (p *replicaHeartbeat) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(p.store.cfg.DeadAfter/3, 200*time.Millisecond))
	defer cancel()
	dead := p.store.cfg.DeadAfter.Milliseconds()
	reply, err := p.client.runScript(ctx, beatScript, "", "", p.store.replica, dead)
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

// run records heartbeats until ctx is done or p.halt is closed. The interval is a third of
// Config.DeadAfter; after a failure, it is a tenth of Config.DeadAfter.
func (p *replicaHeartbeat) run(ctx context.Context) {
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

// steadiness returns two times in Unix milliseconds, according to the clock of the Redis server:
// since is the start of the current uninterrupted series of heartbeats, and known is the time of
// its last heartbeat.
func (p *replicaHeartbeat) steadiness() (since, known int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steadySince, p.lastBeat
}

// leaveScript marks a replica as dead, and removes the replica if it has no runs. Its first two
// arguments are not used and must be empty; the third is the replica.
var leaveScript = redis.NewScript(1, "#!lua\n"+scriptPrelude+`
local beats, me = P .. 'beats', ARGV[3]
call('HSET', beats, me, 0)
if call('SCARD', P .. 'live:' .. me) == 0 then call('HDEL', beats, me) end
call('UNLINK', P .. 'got:' .. me)
return {}
`)

// leave marks this replica as dead, so that other replicas can claim its runs immediately, and
// closes the connections of the heartbeat. It ignores errors: if it cannot mark the replica, the
// others can claim the runs after Config.DeadAfter.
func (p *replicaHeartbeat) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = p.client.runScript(ctx, leaveScript, "", "", p.store.replica)
	_ = p.client.close() // no call is in progress
}

// A claimState holds the state that calls of ClaimOrphans share. Its lock is held
// during each call, so that calls do not overlap.
type claimState struct {
	mu           sync.Mutex
	pendingToken string // token of a request whose reply was lost, to be sent again; "": none
}

// takeoverScript assigns runs of dead replicas to the calling replica and returns the ids of those
// runs. Its first two arguments are not used and must be empty; the others are replica, token,
// limit (in runs), since and known (see steadiness), and dead, the value of Config.DeadAfter in ms.
// A call with the token of the previous call returns the same ids again, because a claimed run
// whose id was lost would never end.
//
// During an outage of the server, the heartbeats of all replicas fail. A replica without heartbeats
// therefore counts as dead only if the heartbeats of the calling replica have succeeded for at
// least Config.DeadAfter. After an outage, each replica thus has that time to send a heartbeat.
var takeoverScript = redis.NewScript(1, "#!lua\n"+scriptPrelude+clockScript+`
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

// ClaimOrphans implements [state.Store]. It also returns runs of this replica that Redis stored
// although StartRun returned an error, for example because the reply of Redis was lost.
func (s *redisStore) ClaimOrphans(ctx context.Context) ([]state.RunRef, error) {
	t := &s.takeover
	t.mu.Lock()
	defer t.mu.Unlock()
	runs := s.resolveUncertain(ctx)
	for {
		if t.pendingToken == "" {
			t.pendingToken = s.nextToken()
		}
		since, known := s.heartbeat.steadiness()
		ids, err := redis.Strings(s.runScript(ctx, takeoverScript, "", "", s.replica, t.pendingToken,
			maxTakeover, since, known, s.cfg.DeadAfter.Milliseconds()))
		if err != nil && len(runs) == 0 {
			return nil, err
		}
		if err != nil {
			return runs, nil // these are claimed already; the next call claims the rest
		}
		t.pendingToken = ""
		for _, id := range ids {
			if run, ok := parseRunRef(id); ok {
				runs = append(runs, run)
			}
		}
		if len(ids) < maxTakeover {
			return runs, nil
		}
	}
}
