-- When the first administrator first signed in: until then another may be put in their place. Of a house of before nobody knows, and so
-- they have.
alter table membership.first_administrator add signed_in_at timestamptz;
update membership.first_administrator set signed_in_at = now();
