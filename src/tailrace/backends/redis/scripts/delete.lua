-- Ends a topic's life and leaves a tombstone.
-- KEYS: identity, stream
-- ARGV: channel, PUBLISH or SPUBLISH, milliseconds to remember it, idle milliseconds (empty: delete it in any case),
--       a number for the grave of a topic whose identity is gone
-- Returns 1 if there was a topic, and, where idle milliseconds are given, nothing has been in it for that long.
if redis.replicate_commands then redis.replicate_commands() end
local was = redis.call('HMGET', KEYS[1], 'i', 'n', 'b', 'l', 's')
local idle = tonumber(ARGV[4])
if idle then
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000) - 1500000000000
  local touched = tonumber(string.sub(was[4] or '', 1, -8))
  if not was[1] or was[5] or was[2] ~= was[3] or not touched or now - touched < idle then return 0 end
end
local there = redis.call('UNLINK', KEYS[2]) == 1
if not was[1] and not there then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'g', was[1] or ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.pcall(ARGV[2], ARGV[1], '')
return 1
