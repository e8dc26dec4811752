-- Appends records to one topic, creating it if need be.
-- KEYS: identity, stream
-- ARGV: channel, PUBLISH or SPUBLISH, proposed incarnation, seven random digits, how many limits follow (0 or 6),
--       [max_records, when passed; max_bytes, when passed; max_age in ms, when passed], payloads...
-- Returns {incarnation, last sequence, low, hint failed} or 0 for a sealed topic. An error: nothing was stored.
if redis.replicate_commands then redis.replicate_commands() end
local identity, stream = KEYS[1], KEYS[2]
local was = redis.call('HMGET', identity, 'i', 'n', 'l', 'z', 'm', 's', 'b', 'o')
if was[6] then return 0 end

local incarnation, last, size, largest = was[1], tonumber(was[2]), tonumber(was[4]), tonumber(was[5])
local born = not incarnation
if born then
  if redis.call('EXISTS', stream) == 1 then return redis.error_reply('ORPHANED') end
  incarnation, last, size, largest = ARGV[3], 0, 0, 0
end

local clock = redis.call('TIME')
local ms = clock[1] * 1000 + math.floor(clock[2] / 1000) - 1500000000000
local now = ms
-- Never before the last commit, or ages would not grow with positions.
if not born then ms = math.max(ms, tonumber(string.sub(was[3], 1, -8)) or 0) end
local low = string.format('%.0f', ms) .. ARGV[4]

local first = 6 + ARGV[5]
local count = #ARGV - first + 1
for at = first, #ARGV do
  local length = #ARGV[at]
  size = size + length
  if length > largest then largest = length end
end
local ending = string.format('%.0f', last + count)
local fields = {'n', ending, 'l', low, 'z', string.format('%.0f', size), 'm', string.format('%.0f', largest)}
if born then
  for _, value in ipairs({'i', incarnation, 'b', '0', 'a', '0'}) do fields[#fields + 1] = value end
end
local oldest = tonumber(was[8]) or ms
if born or tonumber(was[7]) == last then
  oldest = ms
  fields[#fields + 1] = 'o'
  fields[#fields + 1] = string.format('%.0f', ms)
end
-- First, because it is what a server that is full, or a replica, or a list of rights refuses.
local done = redis.pcall('HSET', identity, unpack(fields))
if type(done) == 'table' and done.err then return done end

for at = first, #ARGV do
  done = redis.pcall('XADD', stream, string.format('%.0f-%s', last + at - first + 1, low), 'p', ARGV[at])
  if type(done) == 'table' and done.err then
    for undo = first, at - 1 do
      redis.call('XDEL', stream, string.format('%.0f-%s', last + undo - first + 1, low))
    end
    if born then
      redis.call('HDEL', identity, 'i', 'n', 'l', 'z', 'm', 'b', 'a', 'o')
    else
      redis.call('HSET', identity, 'n', was[2], 'l', was[3], 'z', was[4], 'm', was[5], 'o', was[8])
    end
    return done
  end
end

-- Stored. Whatever fails from here on must not look as if it was not.
if born then redis.pcall('PERSIST', identity) end
if first > 6 then
  local horizon = tonumber(was[7]) or 0
  local records, bytes, age = tonumber(ARGV[7]), tonumber(ARGV[9]), tonumber(ARGV[11])
  if (records and last + count - horizon > records) or (bytes and size > bytes) or (age and oldest < now - age) then
    local max_age = tonumber(ARGV[10])
    local keep = {records = tonumber(ARGV[6]), bytes = tonumber(ARGV[8]), since = max_age and now - max_age}
    pcall(cut, identity, stream, last + count, low, size, keep, 1000 + count)
  end
end
local heard = redis.pcall(ARGV[2], ARGV[1], '')
return {incarnation, ending, low, (type(heard) == 'table' and heard.err) or nil}
