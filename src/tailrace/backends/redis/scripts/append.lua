-- Appends records to one topic, creating it if need be.
-- KEYS: identity, stream
-- ARGV: channel, PUBLISH or SPUBLISH, proposed incarnation, seven random digits, bytes of all payloads, of the largest,
--       how many limits follow (0 or 6),
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
local ms, last, size, largest = now, 0, 0, -1
local incarnation = was[4]
if incarnation then
  last, size, largest = was[1] + 0, was[3] + 0, was[5] + 0
  -- Never before the last commit, or ages would not grow with positions.
  if was[2] + 0 > (ms + 1) * 10000000 then ms = string.sub(was[2], 1, -8) end
elseif call('EXISTS', stream) == 1 then
  return {err = 'ORPHANED records without an identity'}
end
local low = ms .. args[4]
size = size + args[5]

local first, final = 8 + args[7], #args
local before = last - first + 1
local ending = before + final .. ''
-- First, because it is what a server that is full, or a replica, or a list of rights refuses.
local done
if not incarnation then
  incarnation = args[3]
  done = try('HSET', identity, 'n', ending, 'l', low, 'z', size, 'i', incarnation, 'm', args[6], 'b', '0', 'a', '0', 'o', ms)
elseif args[6] + 0 > largest then
  done = try('HSET', identity, 'n', ending, 'l', low, 'z', size, 'm', args[6])
else
  done = try('HSET', identity, 'n', ending, 'l', low, 'z', size)
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
local news = ''
-- A lone small record goes along with the hint, after the place that it follows.
if was[4] and first == final and #args[final] <= 1024 then
  news = incarnation .. ' ' .. was[1] .. ' ' .. was[2] .. ' ' .. ending .. ' ' .. low .. ' ' .. args[final]
end
done = try(args[2], args[1], news)
if type(done) == 'table' then answer = answer .. ' ' .. done.err end
if first == 8 then return answer end
