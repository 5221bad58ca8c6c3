-- A text folds to no more than itself, or than a short one may (put-node.ts); rows of before had each character of theirs become up to
-- eighteen, and every search compares its words with all of it. How a text is folded only the writer knows, so what it folded is cut here:
-- each field to 256 characters, the external id, which alone may be longer and is the last, to its own length.
update membership.node n set fold = cut.fold
from (
  select m.id, string_agg(
    left(f.field, case when f.at = cardinality(string_to_array(m.fold, chr(31))) then greatest(256, length(m.external_id)) else 256 end),
    chr(31) order by f.at) as fold
  from membership.node m cross join unnest(string_to_array(m.fold, chr(31))) with ordinality f(field, at)
  where length(m.fold) > 256 group by m.id
) cut
where n.id = cut.id and n.fold <> cut.fold;
