-- What would be done, as who answers a request is shown it: sealed, bound to its request, and gone with it. Null where nothing came
-- with the denied question.
alter table pdp.request add column call bytea;
