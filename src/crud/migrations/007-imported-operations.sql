-- What each operation of a document would be, a row each: a page reads its own rows and no others. `searched` is what a search looks in.
create table crud.openapi_operation (
  import_id uuid not null references crud.openapi_import on delete cascade,
  at int not null,
  key text not null,
  tags text[] not null,
  importable boolean not null,
  searched text not null,
  operation jsonb not null,
  primary key (import_id, at)
);
insert into crud.openapi_operation (import_id, at, key, tags, importable, searched, operation)
  select i.id, o.at - 1, o.value ->> 'key', array(select jsonb_array_elements_text(o.value -> 'tags')), (o.value ->> 'importable')::boolean,
    lower(concat_ws(E'\n', o.value ->> 'key', o.value ->> 'name', coalesce(o.value ->> 'title', ''), coalesce(o.value ->> 'operation_id', ''))),
    o.value
  from crud.openapi_import i cross join lateral jsonb_array_elements(i.meta -> 'operations') with ordinality o(value, at);
update crud.openapi_import set meta = meta - 'operations';
