"""Search inside the database, for owners whose index would take too much memory in a process.

`search_terms` holds the words of each memory, `search_vectors` its vector; both derive from the rows, and
`search_owners` says up to which change. Whoever searches brings them up to date first, from the change log.
Vectors are compared exactly, by pgvector, unless the owner is very large and has an HNSW graph: an index of its own, as
one over all owners would miss most of one owner's neighbours. A graph answers only when it has found nearly all of the
true neighbours in a trial; until then, and for every question that is limited to some memories, vectors are compared
exactly. Found memories always have their exact cosines.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from psycopg.adapt import Dumper
from psycopg.pq import Format

from memoranda.storage.base import OwnedWork, Owner, PartitionKey, Row, TermCounts, Transaction
from memoranda.storage.postgres.connections import ServerConnections, driver_of, set_local, tenant_settings
from memoranda.storage.postgres.pool import Statement
from memoranda.storage.postgres.transaction import PostgresTransaction, owner_values
from memoranda.types import ANY, FloatArray, IntArray

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


GRAPHS_FROM: Final = 100_000
MAX_GRAPHS: Final = 64
"""Each index makes planning a little slower for every owner."""
LEAST_RECALL: Final = 0.95
EF_SEARCH: Final = 400
"""How many neighbours a graph can return."""
_MAX_DIMENSION: Final = 4000
_TRIALS: Final = 50
_NEIGHBOURS: Final = 10

_OWNER: Final = """
SELECT s.id, dimension, (SELECT count(*) FROM search_vectors WHERE owner_id = s.id),
  (SELECT count(*) FROM search_owners WHERE graph_recall IS NOT NULL AND id <> s.id)
FROM search_owners AS s JOIN generations AS g ON g.id = generation
WHERE s.tenant = %s AND s."user" = %s AND built_to IS NULL AND active = 1"""
_MAY_BUILD: Final = "SELECT pg_has_role(relowner, 'MEMBER') FROM pg_class WHERE oid = to_regclass('search_vectors')"
_TRIAL: Final = (
    "SELECT memory_id, v::text FROM search_vectors WHERE owner_id = %s ORDER BY hashint8(memory_id) LIMIT %s"
)
_EXACT: Final = "SELECT memory_id FROM search_vectors WHERE owner_id = %s ORDER BY v <=> %s::vector, memory_id LIMIT %s"
_NOTE: Final = "UPDATE search_owners SET graph_recall = %s WHERE id = %s"


def build_graph(
    connections: ServerConnections, owner: Owner, *, graphs_from: int = GRAPHS_FROM, least_recall: float = LEAST_RECALL
) -> str:
    """Build the graph of an owner who is searched in the database; return how that ended, in a few words.

    Others may read and write meanwhile. A graph whose recall is too low is dropped again.

    Args:
        connections: To the database.
        owner: A tenant and a user.
        graphs_from: How many vectors an owner must have.
        least_recall: The share of the ten true neighbours that a graph must find to answer.
    """
    with connections.outside_transactions() as connection:
        driver = driver_of(connection)
        found = _in_transaction(driver, lambda: driver.execute(_OWNER, owner).fetchone())
        if found is None:
            return "no graph: the search tables are not complete"
        number, dimension, vectors, graphs = found
        if vectors < graphs_from:
            return f"no graph: it takes {graphs_from:,} vectors"
        if dimension > _MAX_DIMENSION or graphs >= MAX_GRAPHS:
            return f"no graph: at most {MAX_GRAPHS} owners have one, of vectors of at most {_MAX_DIMENSION} numbers"
        if not driver.execute(_MAY_BUILD).fetchone()[0]:
            return "no graph: run the job as the role that owns the tables"
        recall = _build(driver, number, dimension, least_recall)
    return f"a graph that finds {recall:.0%} of the neighbours" + ("" if recall >= least_recall else ", not used")


def nearest_statement(owner: int, dimension: int) -> str:
    """Return the statement that asks the graph: its parameters are the vector, the number of neighbours, the vector."""
    # The owner is part of the text: only then can the planner see that the index is for this owner.
    return f"""
WITH near AS MATERIALIZED (SELECT memory_id, v FROM search_vectors WHERE owner_id = {owner:d}
  ORDER BY v::halfvec({dimension:d}) <=> %s::vector::halfvec({dimension:d}) LIMIT %s)
SELECT memory_id, 1 - (v <=> %s::vector) AS cosine FROM near ORDER BY cosine DESC, memory_id"""


def _build(driver: Any, owner: int, dimension: int, least_recall: float) -> float:
    name = f"search_graph_{owner:d}"
    valid = driver.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", (name,)).fetchone()
    if valid is None or not valid[0]:
        driver.execute(f"DROP INDEX IF EXISTS {name}")  # of a build that was interrupted
        driver.execute(
            f"CREATE INDEX CONCURRENTLY {name} ON search_vectors"
            f" USING hnsw ((v::halfvec({dimension:d})) halfvec_cosine_ops) WHERE owner_id = {owner:d}"
        )
    recall = float(_in_transaction(driver, lambda: _measure(driver, owner, dimension)))
    good = recall >= least_recall
    _in_transaction(driver, lambda: driver.execute(_NOTE, (recall if good else None, owner)))
    if not good:
        driver.execute(f"DROP INDEX {name}")
    return recall


def _measure(driver: Any, owner: int, dimension: int) -> float:
    """Return which share of the true neighbours of some memories the graph finds."""
    found = 0
    trials = driver.execute(_TRIAL, (owner, _TRIALS)).fetchall()
    for _, vector in trials:
        exact = {row[0] for row in driver.execute(_EXACT, (owner, vector, _NEIGHBOURS))}
        near = driver.execute(nearest_statement(owner, dimension), (vector, _NEIGHBOURS, vector))
        found += len(exact & {row[0] for row in near}) * _NEIGHBOURS // max(len(exact), 1)
    return found / (_NEIGHBOURS * len(trials)) if trials else 0.0


def _in_transaction(driver: Any, work: Any) -> Any:
    """Return what `work` returns, which sees the rows of all tenants."""
    with driver.transaction():
        set_local(driver, tenant_settings(ANY) | {"hnsw.ef_search": str(EF_SEARCH)})
        return work()


R = TypeVar("R")
Fetch: TypeAlias = Callable[[Callable[[Any], R]], R]
_FLOAT4: Final = 700
_ARRAY_HEADER: Final = struct.Struct(">iiIii")
"""Dimensions, whether there are NULLs, the type of the items, their number, and the number of the first."""
_ITEM: Final = [("size", ">i4"), ("number", ">f4")]
_DERIVED: Final = ("search_terms", "search_vectors")
_BATCH: Final = 500
"""How many memories one commit brings up to date. Other writers of this process wait for it."""

TABLES: Final = (
    # `built_to` is the last memory that the first pass has reached, NULL when that is done; `graph_recall` is how good
    # the owner's graph was in its trial, NULL where there is none that answers.
    'CREATE TABLE search_owners (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant text COLLATE "C" NOT NULL,'
    ' "user" text COLLATE "C" NOT NULL, generation bigint NOT NULL, seq bigint NOT NULL, built_to bigint,'
    " graph_recall double precision)",
    'CREATE UNIQUE INDEX search_owners_once ON search_owners (tenant, "user", generation)',
    'CREATE TABLE search_terms (owner_id bigint NOT NULL, term text COLLATE "C" NOT NULL, memory_id bigint NOT NULL,'
    ' times integer NOT NULL, tenant text COLLATE "C" NOT NULL, PRIMARY KEY (owner_id, term, memory_id))',
    "CREATE INDEX search_terms_of_memory ON search_terms (memory_id)",
    # In place of foreign keys, which would be checked for each word.
    """
    CREATE FUNCTION memoranda_unsearch() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM search_terms WHERE memory_id IN (SELECT id FROM gone);
      IF to_regclass('search_vectors') IS NOT NULL THEN
        DELETE FROM search_vectors WHERE memory_id IN (SELECT id FROM gone);
      END IF;
      RETURN NULL;
    END $$""",
    "CREATE TRIGGER memories_unsearched AFTER DELETE ON memories REFERENCING OLD TABLE AS gone"
    " FOR EACH STATEMENT EXECUTE FUNCTION memoranda_unsearch()",
)
VECTOR_TABLE: Final = (
    "CREATE TABLE search_vectors (owner_id bigint NOT NULL, memory_id bigint NOT NULL, v vector NOT NULL,"
    ' tenant text COLLATE "C" NOT NULL, PRIMARY KEY (owner_id, memory_id))',
    "CREATE INDEX search_vectors_of_memory ON search_vectors (memory_id)",
)

DIMENSION: Final = "SELECT dimension FROM generations WHERE id = %s AND to_regclass('search_vectors') IS NOT NULL"
_COUNT: Final = 'SELECT count(*) FROM memories WHERE tenant = %s AND "user" = %s'
_STATE: Final = (
    "SELECT s.id, s.seq, s.built_to, o.head, s.graph_recall FROM owners AS o LEFT JOIN search_owners AS s"
    ' ON s.tenant = o.tenant AND s."user" = o."user" AND s.generation = %s'
    ' WHERE o.tenant = %s AND o."user" = %s'
)
_START: Final = (
    'INSERT INTO search_owners (tenant, "user", generation, seq, built_to)'
    ' SELECT tenant, "user", %(generation)s, head, 0 FROM owners WHERE tenant = %(tenant)s AND "user" = %(user)s'
    " ON CONFLICT DO NOTHING RETURNING id"
)
_REMOVE_OTHERS: Final = (
    'DELETE FROM search_owners WHERE tenant = %(tenant)s AND "user" = %(user)s AND generation <> %(generation)s'
    " RETURNING id"
)
_LOCK: Final = (
    "SELECT id, seq, built_to FROM search_owners"
    ' WHERE tenant = %(tenant)s AND "user" = %(user)s AND generation = %(generation)s FOR UPDATE'
)
_NEXT: Final = (
    'SELECT id FROM memories WHERE tenant = %(tenant)s AND "user" = %(user)s AND id > %(after)s'
    " ORDER BY id LIMIT %(most)s"
)
_CHANGED: Final = (
    'SELECT seq, memory_id FROM changes WHERE tenant = %(tenant)s AND "user" = %(user)s AND seq > %(after)s'
    " ORDER BY seq LIMIT %(most)s"
)
_ADD_TERMS: Final = (
    "INSERT INTO search_terms (owner_id, tenant, term, memory_id, times)"
    " SELECT %(owner)s, tenant, term, id, count(*) FROM memories, unnest(string_to_array(terms, ' ')) AS term"
    " WHERE id = ANY(%(ids)s) AND term <> '' GROUP BY tenant, term, id"
)
_DATA: Final = "SELECT memory_id, data FROM vectors WHERE memory_id = ANY(%(ids)s) AND generation = %(generation)s"
_ADD_VECTOR: Final = "INSERT INTO search_vectors (owner_id, tenant, memory_id, v) VALUES (%s, %s, %s, %s::vector)"

# Numbers leave the server as one value for a term, each of 8 or 4 bytes, and not as a row for each memory.
_TERMS: Final = (
    "SELECT term, string_agg(int8send(memory_id), '' ORDER BY memory_id),"
    " string_agg(int4send(times), '' ORDER BY memory_id)"
    " FROM search_terms WHERE owner_id = %s AND term = ANY(%s) GROUP BY term"
)
# A vector of zeros has no direction, and pgvector no number for it.
_COSINE: Final = "1 - coalesce(nullif(v <=> %s::vector, 'NaN'), 1)"
_COSINES: Final = (
    "SELECT string_agg(int8send(memory_id), '' ORDER BY memory_id),"
    f" string_agg(float8send({_COSINE}), '' ORDER BY memory_id) FROM search_vectors WHERE owner_id = %s"
)
_NEAREST: Final = f"SELECT memory_id, {_COSINE} AS cosine FROM search_vectors WHERE owner_id = %s"
_AMONG: Final = " AND memory_id = ANY(%s::bigint[])"


class PostgresSearch:
    """An `OwnerSearch` in the tables of one database."""

    def __init__(
        self,
        key: PartitionKey,
        generation: int,
        dimension: int,
        ask: Callable[[Statement], Sequence[Row]],
        fetch: Fetch[Any],
        write: Callable[[OwnedWork[bool]], bool],
    ) -> None:
        self.dimension = dimension
        self._key = key
        self._values: dict[str, Any] = {**owner_values(key), "generation": generation}
        self._ask = ask
        self._fetch = fetch
        self._write = write
        self._id = -1
        self._has_graph = False

    def count(self) -> int:
        return int(self._ask((_COUNT, [self._values["tenant"], self._values["user"]]))[0][0])

    def is_complete(self) -> bool:
        state = self._state()
        return state is not None and state[0] is not None and state[2] is None

    def update(self) -> None:
        state = self._state()
        if state is not None and (state[0] is None or state[2] is not None or state[1] < state[3]):
            while self.advance():
                pass
            state = self._state()
        if state is not None:  # else nobody has written for this owner
            self._id, self._has_graph = state[0], state[4] is not None

    def _state(self) -> tuple[Any, ...] | None:
        """Return the number of the search, its last change, how far the first pass is, the head, and the recall."""
        for row in self._ask((_STATE, [self._values["generation"], self._values["tenant"], self._values["user"]])):
            return tuple(row)
        return None

    def advance(self) -> bool:
        return self._write(OwnedWork(self._advance))

    def terms(self, terms: Sequence[str]) -> Mapping[str, TermCounts]:
        rows = self._fetch_rows(_TERMS, [self._id, list(terms)])
        return {term: _counts(ids, times) for term, ids, times in rows}

    def nearest(self, query: FloatArray, limit: int, among: IntArray | None) -> tuple[IntArray, FloatArray]:
        import numpy as np

        if among is None and self._has_graph and limit <= EF_SEARCH:
            statement = nearest_statement(self._id, self.dimension)
            rows = self._fetch_rows(statement, [Vector(query), limit, Vector(query)])
        else:
            chosen, values = ("", []) if among is None else (_AMONG, [among.tolist()])
            statement = f"{_NEAREST}{chosen} ORDER BY cosine DESC, memory_id LIMIT %s"
            rows = self._fetch_rows(statement, [Vector(query), self._id, *values, limit])
        return np.array([row[0] for row in rows], dtype=np.int64), np.array([row[1] for row in rows], dtype=np.float32)

    def cosines(self, query: FloatArray, ids: IntArray | None) -> tuple[IntArray, FloatArray]:
        chosen, values = ("", []) if ids is None else (_AMONG, [ids.tolist()])
        found, cosines = self._fetch_rows(_COSINES + chosen, [Vector(query), self._id, *values])[0]
        return _numbers(found, ">i8").astype("i8"), _numbers(cosines, ">f8").astype("f4")

    def _fetch_rows(self, statement: str, values: Sequence[Any]) -> list[Any]:
        def fetch(driver: Any) -> list[Any]:
            set_local(driver, {"hnsw.ef_search": str(EF_SEARCH)})
            with driver.cursor(binary=True) as cursor:
                cursor.adapters.register_dumper(Vector, VectorDumper)
                found: list[Any] = cursor.execute(statement, values).fetchall()
                return found

        rows: list[Any] = self._fetch(fetch)
        return rows

    def _advance(self, tx: Transaction) -> bool:
        """Bring the next memories up to date; return whether there are others."""
        assert isinstance(tx, PostgresTransaction)
        driver, values = tx.driver, self._values
        if driver.execute(_START, values).fetchone():  # of another model's vectors, nobody asks any more
            others = [row[0] for row in driver.execute(_REMOVE_OTHERS, values)]
            for table in _DERIVED:
                driver.execute(f"DELETE FROM {table} WHERE owner_id = ANY(%s)", (others,))
        search_id, seq, built_to = driver.execute(_LOCK, values).fetchone()
        if built_to is not None:
            ids = [row[0] for row in driver.execute(_NEXT, {**values, "after": built_to, "most": _BATCH})]
            self._replace(driver, search_id, ids)
            done = len(ids) < _BATCH
            statement = "UPDATE search_owners SET built_to = %s WHERE id = %s"
            driver.execute(statement, (None if done else ids[-1], search_id))
            return True  # what has changed since the start comes next
        changed = driver.execute(_CHANGED, {**values, "after": seq, "most": _BATCH}).fetchall()
        if changed:
            self._replace(driver, search_id, sorted({memory_id for _, memory_id in changed}))
            driver.execute("UPDATE search_owners SET seq = %s WHERE id = %s", (changed[-1][0], search_id))
        return len(changed) == _BATCH

    def _replace(self, driver: Any, search_id: int, ids: list[int]) -> None:
        """Write the words and vectors of these memories anew."""
        driver.execute("SELECT 1 FROM memories WHERE id = ANY(%s) FOR KEY SHARE", (ids,))  # none is deleted meanwhile
        for table in _DERIVED:
            driver.execute(f"DELETE FROM {table} WHERE owner_id = %s AND memory_id = ANY(%s)", (search_id, ids))
        driver.execute(_ADD_TERMS, {"owner": search_id, "ids": ids})
        with driver.cursor(binary=True) as cursor:
            found = cursor.execute(_DATA, {**self._values, "ids": ids}).fetchall()
        with driver.cursor() as cursor:
            cursor.adapters.register_dumper(Vector, VectorDumper)
            rows = [(search_id, self._key.tenant, each, Vector(_numbers(data, "<f4"))) for each, data in found]
            cursor.executemany(_ADD_VECTOR, rows)


def _counts(ids: bytes, times: bytes) -> TermCounts:
    return _numbers(ids, ">i8").astype("i8"), _numbers(times, ">i4").astype("i8")


def _numbers(data: bytes | None, kind: str) -> NDArray[np.generic]:
    import numpy as np

    return np.frombuffer(data or b"", dtype=kind)


class Vector:
    """A vector as a parameter of a statement."""

    __slots__ = ("data",)

    def __init__(self, numbers: NDArray[Any]) -> None:
        import numpy as np

        items = np.empty(len(numbers), dtype=_ITEM)
        items["size"], items["number"] = 4, numbers
        self.data = _ARRAY_HEADER.pack(1, 0, _FLOAT4, len(numbers), 1) + items.tobytes()


class VectorDumper(Dumper):
    """Sends a vector as an array of float4 in the server's own form, which nobody has to format and parse."""

    format = Format.BINARY
    oid = 1021

    def dump(self, obj: Vector) -> bytes:
        return obj.data
