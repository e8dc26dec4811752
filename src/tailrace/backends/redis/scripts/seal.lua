-- Ends a topic, creating it if need be; the first seal stands. Returns 1.
-- KEYS: identity, stream
-- ARGV: channel, PUBLISH or SPUBLISH, proposed incarnation, seal
if redis.replicate_commands then redis.replicate_commands() end
local was = redis.call('HMGET', KEYS[1], 'i', 's')
if was[2] then
  -- Said again to replicas, so that whoever waits for their confirmation waits for that of the seal.
  redis.call('HSET', KEYS[1], 's', was[2])
  return 1
end
if was[1] then
  redis.call('HSET', KEYS[1], 's', ARGV[4])
else
  if redis.call('EXISTS', KEYS[2]) == 1 then return {err = 'ORPHANED records without an identity'} end
  redis.call('HSET', KEYS[1], 's', ARGV[4], 'i', ARGV[3], 'n', '0', 'l', '0', 'b', '0', 'a', '0', 'z', '0', 'm', '0', 'o', '0')
  redis.pcall('PERSIST', KEYS[1])
end
redis.pcall(ARGV[2], ARGV[1], '')
return 1
