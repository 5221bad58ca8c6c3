import { redisScript } from "#store/redis.ts";

/**
 * How sessions lie in Redis, all below `sallyport:session:`. `at:<hash>` a hash of one session, `ref:<ref>` its hash by
 * name, `expiry` all by their nearest limit, `tenant:..`, `person:..`, `idp-sid:..`, `idp-sub:..` indexes of hashes by
 * time of sign-in. Every script is one step for all processes, and tells its changes within that step.
 */
export const PREFIX = "sallyport:session:";
export const CHANNEL = "sallyport:session:changes";

/** Shared by the scripts. `r` is the part of a session that never changes; `drop` ends one and answers what it was. */
const common = `
local P = '${PREFIX}'
local function tell(ref, kind, reason)
  local said = { ref = ref, kind = kind }
  if reason then said.reason = reason end
  redis.call('PUBLISH', '${CHANNEL}', cjson.encode(said))
end
local function indexes(r)
  local list = { P..'tenant:'..r.tenant, P..'person:'..r.tenant..' '..r.subject }
  if r.idpSid then list[#list + 1] = P..'idp-sid:'..r.issuer..' '..r.idpSid end
  if r.idpSub then list[#list + 1] = P..'idp-sub:'..r.issuer..' '..r.idpSub end
  return list
end
local fields = { 'r', 'seen', 'idle', 'absolute', 'access', 'tokens', 'generation' }
local function read(hash) return redis.call('HMGET', P..'at:'..hash, unpack(fields)) end
local function drop(hash, reason)
  local found = read(hash)
  redis.call('ZREM', P..'expiry', hash)
  if not found[1] then return nil end
  local r = cjson.decode(found[1])
  for _, key in ipairs(indexes(r)) do redis.call('ZREM', key, hash) end
  redis.call('DEL', P..'at:'..hash, P..'ref:'..r.ref)
  tell(r.ref, 'ended', reason)
  return found
end
`;

/** hash, r, seen, idle, absolute, access, tokens, generation, created, kept for ms, hash replaced or "". */
export const CREATE = redisScript(
  "create",
  `${common}
local replaced = nil
if ARGV[11] ~= '' then replaced = drop(ARGV[11], 'replaced') end
local hash, r = ARGV[1], cjson.decode(ARGV[2])
local key = P..'at:'..hash
redis.call('HSET', key, 'r', ARGV[2], 'seen', ARGV[3], 'idle', ARGV[4], 'absolute', ARGV[5], 'access', ARGV[6], 'tokens', ARGV[7],
  'generation', ARGV[8], 'created', ARGV[9])
redis.call('PEXPIRE', key, ARGV[10])
redis.call('SET', P..'ref:'..r.ref, hash, 'PX', ARGV[10])
redis.call('ZADD', P..'expiry', math.min(tonumber(ARGV[4]), tonumber(ARGV[5])), hash)
for _, index in ipairs(indexes(r)) do redis.call('ZADD', index, ARGV[9], hash) end
return replaced or false`,
);

/** hash, seen, idle: forwards only. */
export const TOUCH = redisScript(
  "touch",
  `${common}
local key = P..'at:'..ARGV[1]
local found = redis.call('HMGET', key, 'seen', 'idle', 'absolute')
if not found[1] then return 0 end
local seen = math.max(tonumber(found[1]), tonumber(ARGV[2]))
local idle = math.max(tonumber(found[2]), tonumber(ARGV[3]))
redis.call('HSET', key, 'seen', string.format('%.0f', seen), 'idle', string.format('%.0f', idle))
redis.call('ZADD', P..'expiry', math.min(idle, tonumber(found[3])), ARGV[1])
return 1`,
);

/** hash, generation, owner, milliseconds: `held`, `unknown` (held, after one never heard of again), `taken`, `moved`. */
export const LEASE = redisScript(
  "lease",
  `${common}
local key = P..'at:'..ARGV[1]
local found = redis.call('HMGET', key, 'generation', 'owner', 'lease')
if found[1] ~= ARGV[2] then return 'moved' end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local owner = found[2]
if owner and owner ~= ARGV[3] and tonumber(found[3]) > now then return 'taken' end
redis.call('HSET', key, 'owner', ARGV[3], 'lease', string.format('%.0f', now + tonumber(ARGV[4])))
if owner and owner ~= ARGV[3] then return 'unknown' end
return 'held'`,
);

/** hash, owner, outcome. */
export const RELEASE = redisScript(
  "release",
  `${common}
local key = P..'at:'..ARGV[1]
if redis.call('HGET', key, 'owner') ~= ARGV[2] then return 0 end
if ARGV[3] == 'unknown' then redis.call('HSET', key, 'lease', '0') else redis.call('HDEL', key, 'owner', 'lease') end
return 1`,
);

/** hash, generation, tokens, access: the ref, or 0 when they are others by now. */
export const REPLACE_TOKENS = redisScript(
  "replace_tokens",
  `${common}
local key = P..'at:'..ARGV[1]
if redis.call('HGET', key, 'generation') ~= ARGV[2] then return 0 end
redis.call('HSET', key, 'tokens', ARGV[3], 'access', ARGV[4], 'generation', string.format('%.0f', tonumber(ARGV[2]) + 1))
redis.call('HDEL', key, 'owner', 'lease')
local ref = cjson.decode(redis.call('HGET', key, 'r')).ref
tell(ref, 'changed')
return ref`,
);

/** reason, what (`hash`, `index`, `ref`), which; of a ref its tenant and subject or "" too. Answers what ended. */
export const END = redisScript(
  "end",
  `${common}
local hashes = {}
if ARGV[2] == 'hash' then hashes = { ARGV[3] }
elseif ARGV[2] == 'index' then hashes = redis.call('ZRANGE', P..ARGV[3], 0, -1)
else
  local hash = redis.call('GET', P..'ref:'..ARGV[3])
  local found = hash and read(hash)
  if found and found[1] then
    local r = cjson.decode(found[1])
    if r.tenant == ARGV[4] and (ARGV[5] == '' or r.subject == ARGV[5]) then hashes = { hash } end
  end
end
local ended = {}
for _, hash in ipairs(hashes) do
  local one = drop(hash, ARGV[1])
  if one then ended[#ended + 1] = { hash, one } end
end
return ended`,
);

/** now: ends at most 500 that are past a limit. */
export const END_EXPIRED = redisScript(
  "end_expired",
  `${common}
local ended = {}
for _, hash in ipairs(redis.call('ZRANGE', P..'expiry', '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, 500)) do
  local absolute = redis.call('HGET', P..'at:'..hash, 'absolute')
  local reason = 'idle'
  if absolute and tonumber(absolute) <= tonumber(ARGV[1]) then reason = 'absolute' end
  local one = drop(hash, reason)
  if one then ended[#ended + 1] = { hash, one } end
end
return ended`,
);

/** index, now, limit, created and ref of the place behind which to go on, or "". Newest first; of one moment by ref. */
export const LIST = redisScript(
  "list",
  `${common}
local top = '+inf'
if ARGV[4] ~= '' then top = ARGV[4] end
local found, offset, want = {}, 0, tonumber(ARGV[3])
while true do
  local page = redis.call('ZRANGE', P..ARGV[1], top, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, 200, 'WITHSCORES')
  if #page == 0 then break end
  offset = offset + #page / 2
  local last = page[#page]
  for i = 1, #page, 2 do
    local one = read(page[i])
    if not one[1] then redis.call('ZREM', P..ARGV[1], page[i]); offset = offset - 1
    elseif math.min(tonumber(one[3]), tonumber(one[4])) > tonumber(ARGV[2]) then
      local ref = cjson.decode(one[1]).ref
      if ARGV[4] == '' or tonumber(page[i + 1]) < tonumber(ARGV[4]) or ref > ARGV[5] then
        found[#found + 1] = { page[i], one, tonumber(page[i + 1]), ref }
      end
    end
  end
  -- Of one moment all must be there before they are put in order.
  if #found > want and found[#found][3] < found[want][3] then break end
end
table.sort(found, function(a, b) if a[3] ~= b[3] then return a[3] > b[3] end return a[4] < b[4] end)
local answer = {}
for i = 1, math.min(want, #found) do answer[i] = { found[i][1], found[i][2] } end
return answer`,
);

/** now, index of the provider's session and of its person, "" for one without a name: whether a living one is among them. */
export const SHARED = redisScript(
  "shared",
  `${common}
local function holds(index, fits)
  if index == '' then return false end
  for _, hash in ipairs(redis.call('ZRANGE', P..index, 0, -1)) do
    local one = read(hash)
    if one[1] and math.min(tonumber(one[3]), tonumber(one[4])) > tonumber(ARGV[1]) and fits(cjson.decode(one[1])) then return true end
  end
  return false
end
if holds(ARGV[2], function() return true end) then return 1 end
if holds(ARGV[3], function(r) return ARGV[2] == '' or not r.idpSid end) then return 1 end
return 0`,
);
