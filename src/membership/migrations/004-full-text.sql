-- Full text search, and substring search by its index, where the database knows trigrams. The embedded one does since it is opened with them.
do $$
begin
  create extension if not exists pg_trgm;
  create index if not exists node_fold on membership.node using gin (fold gin_trgm_ops);
exception when others then
  raise notice 'pg_trgm is not available: substring search runs without an index, full text search not at all';
end
$$;
