-- Removes records that are not kept, as many as there is room for.
-- KEYS: identity, stream
-- ARGV: max_records, max_bytes, max_age in ms (each may be empty), room
-- Returns {records removed, their bytes, 1 if there was more}.
if redis.replicate_commands then redis.replicate_commands() end
local was = redis.call('HMGET', KEYS[1], 'i', 'n', 'l', 'z', 'b')
if not was[1] or was[2] == was[5] then return {0, 0, 0} end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000) - 1500000000000
local max_age = tonumber(ARGV[3])
local keep = {records = tonumber(ARGV[1]), bytes = tonumber(ARGV[2]), since = max_age and now - max_age}
local removed, freed, more =
  cut(KEYS[1], KEYS[2], tonumber(was[2]), was[3], tonumber(was[4]), keep, tonumber(ARGV[4]))
return {removed, freed, more and 1 or 0}
