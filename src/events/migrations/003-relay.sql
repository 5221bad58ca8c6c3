-- Who relays which lane, and until when. A process that was paused past its lease finds another epoch and marks nothing.
create table events.outbox_lane (
  lane smallint primary key,
  lease_by text,
  lease_until timestamptz,
  epoch bigint not null default 0
);
insert into events.outbox_lane (lane) select generate_series(0, 63);

-- Rows that were refused for what they are: their key waits for them, and it is looked up each time.
create index outbox_refused on events.outbox (lane) where sink is not null and sent_at is null and dead_at is null and attempts > 0;
create index outbox_dead on events.outbox (seq) where dead_at is not null;

-- As it was, and for a configured sink the same row says where it goes.
create or replace function events.emit(drafts json) returns table (head_tenant text, head_stream text, head_version bigint)
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
    insert into events.outbox (id, tenant, stream, version, kind, visible_to, sink, topic, lane, key, type, subject, data, traceparent, correlation_id)
    select (d ->> 'id')::uuid, touched.tenant, touched.stream,
           head_version - touched.raised + row_number() over (order by place),
           d ->> 'kind',
           case when d -> 'visible_to' is null then null else array(select json_array_elements_text(d -> 'visible_to')) end,
           d ->> 'sink', d ->> 'topic', (d ->> 'lane')::smallint,
           d ->> 'key', d ->> 'type', d ->> 'subject', d -> 'data', d ->> 'traceparent', d ->> 'correlation_id'
    from json_array_elements(drafts) with ordinality as given (d, place)
    where d ->> 'tenant' = touched.tenant and d ->> 'stream' = touched.stream;
    return next;
  end loop;
end
$$;
