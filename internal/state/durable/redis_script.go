package durable

import (
	"fmt"

	"github.com/gomodule/redigo/redis"

	"github.com/streamassay/streamassay/internal/state"
)

// scriptPrelude is the Lua code with which every script for the Redis server begins, after the
// script's first line.
//
// Every change is one script and therefore atomic: the server executes scripts one at a
// time. The first line of a script begins with "#!lua". Because of that line, a server that has
// run out of memory does not even start a script that writes.
//
// All keys begin with the prefix, which is KEYS[1]:
//
//	all              hash    counters of the store:
//	                           begun   number of runs that were ever started
//	                           tag     tag of the thread that was created last
//	                           size    number of bytes of the events of ended runs
//	secret           string  the result of Secret
//	t:THREAD         hash    a thread:
//	                           owner   name of the user
//	                           tag     see state.Thread
//	                           last    position of the latest event
//	                           lost    greatest position of an event that is no longer kept
//	                           runs    number of runs that are kept
//	                           said    number of the latest message
//	                           aDAY    number of the first message of a day
//	                           zDAY    number of the last message of a day
//	m:THREAD         stream  messages; the id is the number
//	d:THREAD         zset    days that have messages which are not hidden
//	l:THREAD         set     runs that have not ended
//	r:ID             hash    a run:
//	                           task    the caller's id; see state.RunRequest.TaskID
//	                           at      time at which the run was started
//	                           first   number of the first message that the run adds
//	                           logged  1 if events are kept, else 0
//	                           over    1 if the run has ended, else 0
//	                           by      replica that executes the run
//	                           ask     1 if Cancel was called, else absent
//	                           top     position of the last event that is kept; 0: none
//	                           count   number of events that are kept
//	                           size    number of bytes of these events
//	                           born    replica and token of the call of StartRun that started the run
//	                           made    1 if that call created the thread, else 0
//	                           kNAME   token and result of the last Append by the replica NAME
//	e:ID             stream  events of the run; the id is the position
//	o:OWNER          zset    threads, in the order in which their latest runs were started
//	over             list    ended runs, oldest first
//	asked            set     runs that have not ended, and for which Cancel was called
//	beats            hash    replica → time in ms after which it is dead
//	live:REPLICA     set     its runs that have not ended
//	got:REPLICA      list    token and result of its last ClaimOrphans
//	w:THREAD         channel a run was started or appended to
//	cancel           channel IDs of runs for which Cancel was called
//
// An ID is the result of encodeRef: the thread's length, a colon, the thread, the run.
//
// Each run has a stream of its own, although positions are counted in the thread. Readers want the
// events of one run beyond a position, which are a range of its stream and found in logarithmic
// time. A run is dropped by unlinking one key; the entries of a stream for the whole thread would
// have to be deleted one by one. The cost is one more key for each run.
const scriptPrelude = `
local call = redis.call
local P, thread, run = KEYS[1], ARGV[1], ARGV[2]
local function place(n) return string.format('%d-0', n) end
local function word(thread, run) return #thread .. ':' .. thread .. run end
local t = P .. 't:' .. thread
local id = word(thread, run)
local r, e = P .. 'r:' .. id, P .. 'e:' .. id
`

// messagesScript defines the Lua function keep(from), which stores the messages in ARGV[from] and
// the arguments after it. Each message has two arguments: its JSON, and its day, which is empty if
// the message is hidden. Whenever the number of a message is a multiple of state.TrimStep, keep
// drops all but the latest state.MaxMessages messages of the thread.
var messagesScript = fmt.Sprintf("local most, step = %d, %d\n", state.MaxMessages, state.TrimStep) + `
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

// clockScript defines the Lua function now() for other scripts. It returns the time of the Redis
// server's clock in ms since January 1, 1970 UTC. The scripts use that clock because the clocks of
// the replicas, the processes that share the server, may differ.
const clockScript = `
local function now()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
`

// startScript implements StartRun. Its arguments are thread, run, owner, task, startedAt,
// keepEvents ('1' or '0'), replica, token, tag, dead (Config.DeadAfter in ms), and the messages.
// Only the call that creates the first thread of a store uses tag: that thread gets the tag tag+1,
// and later threads get consecutive tags.
//
// The reply is {'owner'} if the thread belongs to a different owner. Otherwise it is {kind,
// created, task, startedAt, first}: kind is 'made', or 'again' if the run already existed; created
// is '1' if the call created the thread, and otherwise '0'; first is the number of the run's first
// message. A call with the replica and the token of an earlier call returns the same result and
// adds nothing.
var startScript = redis.NewScript(1, "#!lua\n"+scriptPrelude+messagesScript+clockScript+`
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

// forgetScript defines the Lua function forget(n, size, runs, bytes), which drops ended runs, oldest
// first. The parameters n and size are the number of ended runs before the call and the size of
// their events in bytes; runs and bytes are the limits on them. If bytes is 0, the size is not
// limited. A call drops at most 16 runs, so that Append does not take long. The script needs the
// variables call and P of scriptPrelude.
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

// appendScript implements Append. Its arguments are thread, run, replica, token, end ('1' or '0'),
// maxRuns, maxBytes, count (of events), the events, and the messages. The reply is one of these:
//
//   - {'told', first, canceled}: first is the position of the first of the events, and canceled is
//     '1' if Cancel was called for the run, and otherwise '0'.
//   - {'unknown'}: the run does not exist or has ended.
//   - {'late'}: a call with a later token has been executed.
//
// A call with the token of the previous call, whose reply may have been lost, returns the same
// result and adds nothing.
var appendScript = redis.NewScript(1, "#!lua\n"+scriptPrelude+messagesScript+forgetScript+`
local me, token, over, count = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[8])
local v = call('HMGET', r, 'over', 'logged', 'ask', 'by', 'top', 'count', 'size', 'k' .. me)
if not v[1] then return {'unknown'} end
local canceled = v[3] or '0'
if v[8] then
  local was, first = v[8]:match('^(%S+) (%S+)$')
  if was == token then return {'told', first, canceled} end
  if tonumber(token) < tonumber(was) then return {'late'} end -- its caller gave up long ago
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
  local runs, bytes = call('RPUSH', P .. 'over', id), call('HINCRBY', P .. 'all', 'size', size)
  forget(runs, bytes, tonumber(ARGV[6]), tonumber(ARGV[7]))
end
call('PUBLISH', P .. 'w:' .. thread, '')
return {'told', first, canceled}
`)

// cancelScript implements Cancel. Its arguments are thread and run. An empty run stands for all
// running runs of the thread. Runs that do not exist or have ended are ignored. The reply is an
// empty list.
var cancelScript = redis.NewScript(1, "#!lua\n"+scriptPrelude+`
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
return {}
`)
