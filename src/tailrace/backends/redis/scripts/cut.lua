-- Shared by append and trim: removes the oldest records that retention does not keep.
-- The horizon's own low is read before it is removed, so that a reader who stands exactly there goes on.
local function cut(identity, stream, last, low, size, keep, room)
  local removed, freed, horizon, horizon_low, oldest = 0, 0, nil, nil, nil
  local from, step = '-', 16
  while removed < room and not oldest do
    local found = redis.call('XRANGE', stream, from, '+', 'COUNT', math.min(step, room - removed) .. '')
    if #found == 0 then break end
    local seen = freed
    for _, entry in ipairs(found) do
      local seq, its_low = string.match(entry[1], '^(%d+)-(%d+)$')
      seq = tonumber(seq)
      local ms = tonumber(string.sub(its_low, 1, -8)) or 0
      local over = (keep.records and last - seq + 1 > keep.records)
        or (keep.bytes and size - freed > keep.bytes)
        or (keep.since and ms < keep.since)
      if not over or seq > last then
        oldest = ms
        break
      end
      removed, freed, horizon, horizon_low = removed + 1, freed + #entry[2][2], seq, its_low
      from = '(' .. entry[1]
    end
    -- What is walked over is held in memory: few at once where they are large.
    step = (freed - seen) > 131072 and math.max(1, math.floor(step / 2)) or math.min(256, step * 2)
  end
  local more = not oldest and removed > 0 and removed >= room and horizon < last
  if not oldest and not more and redis.call('XLEN', stream) == removed then
    -- Nothing is left, or somebody else removed what was.
    horizon, horizon_low, freed = last, low, size
  end
  if horizon then
    redis.call('XTRIM', stream, 'MINID', '=', horizon + 1 .. '-0')
    local left = math.max(0, size - freed)
    if horizon == last then left = 0 end
    redis.call('HSET', identity, 'b', horizon .. '', 'a', horizon_low, 'z', left .. '')
    oldest = oldest or tonumber(string.sub(horizon_low, 1, -8)) or 0
  end
  -- Also where nothing was cut: it may have been older than what is there.
  if oldest then redis.call('HSET', identity, 'o', oldest .. '') end
  return removed, freed, more
end
