"""HNSW graphs of pgvector for very large owners, one index for each: an index over all owners would miss most of one
owner's neighbours.

A graph answers only when it has found nearly all of the true neighbours in a trial; until then, and for every question
that is limited to some memories, vectors are compared exactly. Found memories always have their exact cosines.
"""

from __future__ import annotations

from typing import Any, Final

from memoranda.storage.base import Owner
from memoranda.storage.postgres.connections import ServerConnections, driver_of, set_local, tenant_settings
from memoranda.types import ANY

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
