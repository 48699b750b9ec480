"""HNSW graphs of pgvector for very large owners, one index for each: an index over all owners would miss most of one
owner's neighbours.

A graph answers only when it has found nearly all of the true neighbours in a trial; until then, and for every question
that is limited to some memories, vectors are compared exactly. Found memories always have their exact cosines.
"""

from __future__ import annotations

from typing import Any, Final

from memoranda.errors import InvalidInput
from memoranda.storage.postgres.connections import ServerConnections, driver_of, parse_url, set_local, tenant_settings
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

_CANDIDATES: Final = """
SELECT s.id, s.tenant, s."user", dimension, count(*) FROM search_owners AS s JOIN generations AS g ON g.id = generation
JOIN search_vectors AS v ON v.owner_id = s.id WHERE built_to IS NULL AND dimension <= %s AND active = 1
GROUP BY s.id, dimension HAVING count(*) >= %s ORDER BY count(*) DESC LIMIT %s"""
_TRIAL: Final = (
    "SELECT memory_id, v::text FROM search_vectors WHERE owner_id = %s ORDER BY hashint8(memory_id) LIMIT %s"
)
_EXACT: Final = "SELECT memory_id FROM search_vectors WHERE owner_id = %s ORDER BY v <=> %s::vector, memory_id LIMIT %s"
_NOTE: Final = "UPDATE search_owners SET graph_recall = %s WHERE id = %s"


def build_graphs(
    url: str, *, graphs_from: int = GRAPHS_FROM, least_recall: float = LEAST_RECALL
) -> list[tuple[str, str, float]]:
    """Build graphs for the largest owners that are searched in the database; return tenant, user and recall of each.

    Others may read and write meanwhile. A graph whose recall is too low is dropped again.

    Args:
        url: The database, as the role that owns the tables.
        graphs_from: How many vectors an owner must have.
        least_recall: The share of the ten true neighbours that a graph must find to answer.
    """
    if not 0 < least_recall <= 1:
        raise InvalidInput(f"least_recall must be above 0 and at most 1, not {least_recall!r}")
    connections = ServerConnections(parse_url(url), "full")
    try:
        with connections.outside_transactions() as connection:
            driver = driver_of(connection)
            owners = _in_transaction(
                driver, lambda: driver.execute(_CANDIDATES, (_MAX_DIMENSION, graphs_from, MAX_GRAPHS)).fetchall()
            )
            return [
                (tenant, user, _build(driver, owner, dimension, least_recall))
                for owner, tenant, user, dimension, _ in owners
            ]
    finally:
        connections.close()


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
