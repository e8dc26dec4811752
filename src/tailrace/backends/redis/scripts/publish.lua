-- Keeps one live message for a while, with its number in the topic, and gives the hint.
-- KEYS: stream
-- ARGV: channel of the hint, PUBLISH or SPUBLISH, messages that are kept, milliseconds that they are, payload
-- An error: the message may be kept all the same.
if redis.replicate_commands then redis.replicate_commands() end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local number = last and last[2][1] == 'n' and last[2][2] + 1 or 1
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*', 'n', string.format('%.0f', number), 'p', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return redis.call(ARGV[2], ARGV[1], '')
