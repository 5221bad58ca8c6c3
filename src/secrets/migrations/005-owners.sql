-- Who made a secret through the house, and whose it is said to be.
alter table secrets.change add column created_by text, add column created_at timestamptz, add column owner text;
