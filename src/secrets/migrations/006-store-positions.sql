-- How far each store had come when a process of this deployment last changed it: no other process reads it where it has come less far.
-- place: the text that the store knows it by; value orders the places of one cluster. No column holds a value of a secret.
create table secrets.store_position (
  store text primary key,
  cluster text not null,
  value numeric(20) not null,
  place text not null
);
