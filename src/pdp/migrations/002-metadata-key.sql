-- The key that signs the decision point's metadata, one for all its processes. Its private part is sealed.
create table pdp.metadata_key (
  id int primary key check (id = 1),
  kid text not null,
  sealed_private bytea not null,
  created_at timestamptz not null default clock_timestamp()
);
