-- Appends records to one topic, creating it if need be.
-- KEYS: identity, stream
-- ARGV: channel, PUBLISH or SPUBLISH, proposed incarnation, seven random digits, how many limits follow (0 or 6),
--       [max_records, when passed; max_bytes, when passed; max_age in ms, when passed], payloads...
-- Returns "incarnation last-sequence low why-the-hint-failed", or 0 for a sealed topic. An error: nothing was stored.
-- Numbers stay below 10^14: up to there Lua writes them without an exponent.
if redis.replicate_commands then redis.replicate_commands() end
local call, try, args = redis.call, redis.pcall, ARGV
local identity, stream = KEYS[1], KEYS[2]
local was = call('HMGET', identity, 'n', 'l', 'z', 'i', 'm', 's')
if was[6] then return 0 end

local clock = call('TIME')
local now = clock[1] * 1000 + (clock[2] - clock[2] % 1000) / 1000 - 1500000000000
local ms, incarnation, last, size, largest = now, was[4], 0, 0, 0
if incarnation then
  last, size, largest = was[1] + 0, was[3] + 0, was[5] + 0
  -- Never before the last commit, or ages would not grow with positions.
  local before = tonumber(string.sub(was[2], 1, -8))
  if before and before > ms then ms = before end
elseif call('EXISTS', stream) == 1 then
  return {err = 'ORPHANED records without an identity'}
end
local low = ms .. args[4]

local first, final, most = 6 + args[5], #args, largest
for at = first, final do
  local length = #args[at]
  size = size + length
  if length > most then most = length end
end
local before = last - first + 1
local ending = before + final .. ''
-- First, because it is what a server that is full, or a replica, or a list of rights refuses.
local done
if not incarnation then
  incarnation = args[3]
  done = try('HSET', identity, 'n', ending, 'l', low, 'z', size .. '', 'i', incarnation, 'm', most .. '',
    'b', '0', 'a', '0', 'o', ms .. '')
elseif most > largest then
  done = try('HSET', identity, 'n', ending, 'l', low, 'z', size .. '', 'm', most .. '')
else
  done = try('HSET', identity, 'n', ending, 'l', low, 'z', size .. '')
end
if type(done) == 'table' then return {err = done.err .. ' (hset)'} end

local suffix = '-' .. low
for at = first, final do
  done = try('XADD', stream, before + at .. suffix, 'p', args[at])
  if type(done) == 'table' then
    for undo = first, at - 1 do
      call('XDEL', stream, before + undo .. suffix)
    end
    if was[4] then
      call('HSET', identity, 'n', was[1], 'l', was[2], 'z', was[3], 'm', was[5])
    else
      call('HDEL', identity, 'n', 'l', 'z', 'i', 'm', 'b', 'a', 'o')
    end
    return {err = done.err .. ' (xadd)'}
  end
end

-- Stored. Whatever fails from here on must not look as if it was not.
if not was[4] then try('PERSIST', identity) end
local answer = incarnation .. ' ' .. ending .. ' ' .. low
done = try(args[2], args[1], '')
if type(done) == 'table' then answer = answer .. ' ' .. done.err end
if first == 6 then return answer end
