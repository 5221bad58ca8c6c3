create schema events;

-- The newest and the oldest kept version of each live stream. Versions are dense from 1 and equal commit order, because
-- whoever raises a head holds its row until it commits.
create table events.stream_head (
  tenant text not null,
  stream text not null,
  version bigint not null,
  oldest bigint not null default 1,
  primary key (tenant, stream)
) with (fillfactor = 20);

-- What happened: read by live streams (stream, version) and by relays to other systems (sink, topic, key, lane).
create table events.outbox (
  seq bigserial primary key,
  id uuid not null,
  tenant text not null,
  stream text,
  version bigint,
  kind text,                   -- `event:` line of the frame
  visible_to text[],           -- subject ids; null = all who may read the stream
  sink text,
  topic text,
  key text,
  lane smallint,
  type text not null,
  subject text,
  data json not null,          -- json, not jsonb: the bytes as they were written
  traceparent text,
  correlation_id text,
  at timestamptz not null default clock_timestamp(),
  attempts int not null default 0,
  next_at timestamptz not null default now(),
  sent_at timestamptz,
  dead_at timestamptz,
  error text,
  unique (tenant, stream, version),
  check ((stream is null) = (version is null)),
  check (stream is not null or sink is not null)
);

create index outbox_due on events.outbox (lane, seq) where sink is not null and sent_at is null and dead_at is null;

-- Raises the head of each touched stream, in (tenant, stream) order so that two emitters cannot lock crosswise, and
-- inserts the rows. Called last in a transaction: the heads are held only until its commit.
create function events.emit(drafts json) returns table (head_tenant text, head_stream text, head_version bigint)
language plpgsql as $$
declare
  touched record;
begin
  for touched in
    select given.tenant, given.stream, count(*) as raised
    from json_to_recordset(drafts) as given (tenant text, stream text)
    where given.stream is not null
    group by given.tenant, given.stream
    order by given.tenant collate "C", given.stream collate "C"
  loop
    insert into events.stream_head as h (tenant, stream, version)
    values (touched.tenant, touched.stream, touched.raised)
    on conflict (tenant, stream) do update set version = h.version + excluded.version
    returning h.version into head_version;
    head_tenant := touched.tenant;
    head_stream := touched.stream;
    insert into events.outbox (id, tenant, stream, version, kind, visible_to, key, type, subject, data, traceparent, correlation_id)
    select (d ->> 'id')::uuid, touched.tenant, touched.stream,
           head_version - touched.raised + row_number() over (order by place),
           d ->> 'kind',
           case when d -> 'visible_to' is null then null else array(select json_array_elements_text(d -> 'visible_to')) end,
           d ->> 'key', d ->> 'type', d ->> 'subject', d -> 'data', d ->> 'traceparent', d ->> 'correlation_id'
    from json_array_elements(drafts) with ordinality as given (d, place)
    where d ->> 'tenant' = touched.tenant and d ->> 'stream' = touched.stream;
    return next;
  end loop;
end
$$;
