package state

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Everything that changes something is one script, so it is done whole or not at all:
// the server runs scripts one at a time, and refuses one that may write before it has
// begun when there is no memory left (that is what the first line asks for).
//
// All keys begin with the prefix, which is KEYS[1]:
//
//	all              hash    begun (runs, ever), tag (of the thread made last), size (bytes of what is over)
//	secret           string
//	t:THREAD         hash    owner tag last lost, runs (how many), said (messages), aDAY zDAY (first and last message of a day)
//	m:THREAD         stream  messages; the id is the number
//	d:THREAD         zset    days that have messages which are not hidden
//	l:THREAD         set     runs that are not over
//	r:ID             hash    task at first logged over by ask top size count, born and made (by which Begin), k* (the last Tell)
//	e:ID             stream  the events of one run; the id is the place
//	o:OWNER          zset    threads, by when a run was begun in them
//	over             list    runs that are over, oldest first
//	asked            set     runs that are not over, and are to be stopped
//	beats            hash    replica to when it is given up, in ms
//	live:REPLICA     set     its runs that are not over
//	got:REPLICA      list    what it took over last
//	w:THREAD         channel something was begun or told
//	cancel           channel IDs of runs that are to be stopped
//
// An ID is a Ref in one word: the thread's length, a colon, the thread, the run.
//
// A run has a stream of its own, although places are the thread's. What is asked for
// is always one run beyond a place: that is one range here, found in logarithmic time
// and with nothing in it that has to be thrown away, however many runs the thread
// has and however they interleave. And a run is forgotten by unlinking one key; in a
// stream for all, its entries would be deleted one by one out of nodes which stay
// allocated until the last neighbour is gone. The price is a key more for each run.
const scriptPrelude = `
local call = redis.call
local P, thread, run = KEYS[1], ARGV[1], ARGV[2]
local function place(n) return string.format('%d-0', n) end
local function word(thread, run) return #thread .. ':' .. thread .. run end
local t = P .. 't:' .. thread
local id = word(thread, run)
local r, e = P .. 'r:' .. id, P .. 'e:' .. id
`

// messagesScript keeps messages, which are pairs from an argument on: the message, and its day
// unless it is hidden.
var messagesScript = fmt.Sprintf("local most, step = %d, %d\n", maxMessages, trimStep) + `
local function trim(to)
  call('XTRIM', P .. 'm:' .. thread, 'MINID', place(to + 1))
  while true do
    local day = call('ZRANGE', P .. 'd:' .. thread, 0, 0)[1]
    if not day or tonumber(call('HGET', t, 'z' .. day)) > to then return end
    call('ZREM', P .. 'd:' .. thread, day)
    call('HDEL', t, 'a' .. day, 'z' .. day)
  end
end
local function keep(from)
  for i = from, #ARGV, 2 do
    local seq, day = call('HINCRBY', t, 'said', 1), ARGV[i+1]
    call('XADD', P .. 'm:' .. thread, place(seq), 'm', ARGV[i])
    if day ~= '' then
      call('ZADD', P .. 'd:' .. thread, 0, day)
      call('HSETNX', t, 'a' .. day, seq)
      call('HSET', t, 'z' .. day, seq)
    end
    if seq > most and seq % step == 0 then trim(seq - most) end
  end
end
`

// clockScript is the server's, so that replicas need not agree on the time.
const clockScript = `
local function now()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
`

// startScript takes thread run owner task at logged replica token seed dead, and what
// is said. A Begin that comes again with its token is told what it was told before.
var startScript = redis.NewScript("#!lua\n" + scriptPrelude + messagesScript + clockScript + `
local owner, me, token = ARGV[3], ARGV[7], ARGV[8]
local whose = call('HGET', t, 'owner')
if whose and whose ~= owner then return {'owner'} end
local was = call('HMGET', r, 'task', 'at', 'first', 'born', 'made')
if was[1] then
  if was[4] == me .. token then return {'made', was[5], was[1], was[2], was[3]} end
  return {'again', '0', was[1], was[2], was[3]}
end
local made, all = '0', P .. 'all'
if not whose then
  made = '1'
  call('HSETNX', all, 'tag', ARGV[9])
  local tag = call('HINCRBY', all, 'tag', 1)
  call('HSET', t, 'owner', owner, 'tag', tag, 'last', 0, 'lost', 0, 'runs', 0, 'said', 0)
end
local first = call('HGET', t, 'said') + 1
call('HSET', r, 'task', ARGV[4], 'at', ARGV[5], 'first', first, 'logged', ARGV[6],
  'over', 0, 'by', me, 'top', 0, 'count', 0, 'size', 0, 'born', me .. token, 'made', made)
call('HINCRBY', t, 'runs', 1)
call('SADD', P .. 'l:' .. thread, run)
call('SADD', P .. 'live:' .. me, id)
if call('HEXISTS', P .. 'beats', me) == 0 then
  call('HSET', P .. 'beats', me, now() + ARGV[10])
end
call('ZADD', P .. 'o:' .. owner, call('HINCRBY', all, 'begun', 1), thread)
keep(11)
call('PUBLISH', P .. 'w:' .. thread, '')
return {'made', made, ARGV[4], ARGV[5], tostring(first)}
`)

// forgetScript drops the oldest runs that are over while there are too many of them or of
// their bytes, but only so many at a time: who ends a run should not wait for long.
const forgetScript = `
local function drop(id)
  local n, rest = id:match('^(%d+):(.*)$')
  local thread = rest:sub(1, n)
  local r, t = P .. 'r:' .. id, P .. 't:' .. thread
  local v = call('HMGET', r, 'size', 'top')
  call('UNLINK', r, P .. 'e:' .. id)
  if call('HINCRBY', t, 'runs', -1) > 0 then
    if tonumber(v[2]) > tonumber(call('HGET', t, 'lost')) then call('HSET', t, 'lost', v[2]) end
    return v[1]
  end
  call('ZREM', P .. 'o:' .. call('HGET', t, 'owner'), thread)
  call('UNLINK', t, P .. 'm:' .. thread, P .. 'd:' .. thread)
  return v[1]
end
local function forget(n, size, runs, bytes)
  for i = 1, 16 do
    if n <= runs and (bytes == 0 or size <= bytes) then return end
    n, size = n - 1, call('HINCRBY', P .. 'all', 'size', 0 - drop(call('LPOP', P .. 'over')))
  end
end
`

// appendScript takes thread run replica token over runs bytes count, the events, and
// what is said. A Tell that comes again with its token is told what it was told
// before: its answer may have been lost, and nothing may be added twice.
var appendScript = redis.NewScript("#!lua\n" + scriptPrelude + messagesScript + forgetScript + `
local me, token, over, count = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[8])
local v = call('HMGET', r, 'over', 'logged', 'ask', 'by', 'top', 'count', 'size', 'k' .. me)
if not v[1] then return {'unknown'} end
local canceled = v[3] or '0'
if v[8] then
  local was, first = v[8]:match('^(%S+) (%S+)$')
  if was == token then return {'told', first, canceled} end
  if tonumber(token) < tonumber(was) then return {'late'} end -- it was given up long ago
end
if v[1] == '1' then return {'unknown'} end
local last, top, size = tonumber(call('HGET', t, 'last')), v[5], v[7]
local first = string.format('%d', last + 1)
if count > 0 and v[2] == '1' then
  for i = 1, count do
    local data = ARGV[8+i]
    call('XADD', e, place(last + i), 'd', data)
    size = size + #data
  end
  top = last + count
  call('HSET', t, 'last', top)
else
  count = 0
end
call('HSET', r, 'over', over, 'top', top, 'count', v[6] + count, 'size', size, 'k' .. me, token .. ' ' .. first)
keep(9 + tonumber(ARGV[8]))
if over == '1' then
  call('SREM', P .. 'l:' .. thread, run)
  call('SREM', P .. 'live:' .. v[4], id)
  if v[3] then call('SREM', P .. 'asked', id) end
  forget(call('RPUSH', P .. 'over', id), call('HINCRBY', P .. 'all', 'size', size), tonumber(ARGV[6]), tonumber(ARGV[7]))
end
call('PUBLISH', P .. 'w:' .. thread, '')
return {'told', first, canceled}
`)

// cancelScript takes thread run; no run is all that are not over.
var cancelScript = redis.NewScript("#!lua\n" + scriptPrelude + `
local runs = {run}
if run == '' then runs = call('SMEMBERS', P .. 'l:' .. thread) end
for _, run in ipairs(runs) do
  local id = word(thread, run)
  if call('HGET', P .. 'r:' .. id, 'over') == '0' then
    call('HSET', P .. 'r:' .. id, 'ask', 1)
    call('SADD', P .. 'asked', id)
    call('PUBLISH', P .. 'cancel', id)
  end
end
return #runs
`)
