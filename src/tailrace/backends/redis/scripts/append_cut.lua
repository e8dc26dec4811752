-- After append and cut: removes what the append pushed out. The walk is bounded; a sweep does the rest.
local function keep_to_limits()
  local has = call('HMGET', identity, 'b', 'o')
  local records, bytes, age = tonumber(args[9]), tonumber(args[11]), tonumber(args[13])
  local ended = tonumber(ending)
  if (records and ended - has[1] > records) or (bytes and size > bytes) or (age and has[2] + age < now) then
    local max_age = tonumber(args[12])
    local keep = {records = tonumber(args[8]), bytes = tonumber(args[10]), since = max_age and now - max_age}
    cut(identity, stream, ended, low, size, keep, 1000 + final)
  end
end
pcall(keep_to_limits)
return answer
