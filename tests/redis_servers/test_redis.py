from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator

import pytest

from memoranda.errors import Incompatible, InvalidInput, InvalidType, MissingExtra, Unavailable
from memoranda.sessions.base import Namespace, Tenant, Workflow
from memoranda.sessions.redis import RedisBackend
from memoranda.testing.values import ValueStoreContract
from tests.redis_servers.servers import Cluster, Server, wait_until

AGENT = Namespace(agent="writer")


class RedisContract(ValueStoreContract):
    def advance(self, seconds: float) -> None:
        time.sleep(seconds)


class TestSingleServer(RedisContract):
    @pytest.fixture
    def store(self, redis_server: Server) -> Iterator[RedisBackend]:
        redis_server.ask("FLUSHALL")
        with RedisBackend(redis_server.url) as store:
            yield store


class TestCluster(RedisContract):
    @pytest.fixture
    def store(self, redis_cluster: Cluster) -> Iterator[RedisBackend]:
        for node in redis_cluster.nodes:
            node.ask("FLUSHALL")
        with RedisBackend(redis_cluster.url) as store:
            yield store

    def test_one_tenants_values_are_spread_over_the_nodes(self, store: RedisBackend, redis_cluster: Cluster) -> None:
        for number in range(60):
            store.set(Namespace(workflow=f"workflow {number}", agent="writer"), {"a": 1, "b": 2})
        assert all(int(str(node.ask("DBSIZE"))) > 20 for node in redis_cluster.nodes)
        assert store.count(Tenant()) == 120
        assert store.clear(Tenant()) == 120
        assert all(node.ask("DBSIZE") == 0 for node in redis_cluster.nodes)


@pytest.fixture
def store(redis_server: Server) -> Iterator[RedisBackend]:
    redis_server.ask("FLUSHALL")
    with RedisBackend(redis_server.url) as store:
        yield store


def test_two_stores_share_what_one_prefix_holds(store: RedisBackend, redis_server: Server) -> None:
    store.set(AGENT, {"draft": "headline"})
    with RedisBackend(redis_server.url) as same, RedisBackend(redis_server.url, prefix="others:") as other:
        assert same.get(AGENT, ["draft"]) == {"draft": "headline"}
        assert other.get(AGENT, ["draft"]) == {}
        assert other.clear(Tenant()) == 0
    assert store.count(AGENT) == 1


def test_redis_itself_lets_values_and_index_expire(store: RedisBackend, redis_server: Server) -> None:
    store.set(AGENT, {"draft": "headline"}, ttl=1)
    lifetimes = [int(str(redis_server.ask("PTTL", key))) for key in _keys(redis_server)]
    assert len(lifetimes) == 3
    assert all(0 < lifetime <= 2000 for lifetime in lifetimes)
    wait_until(lambda: not _keys(redis_server), "an empty server", seconds=10)


def test_expired_names_do_not_pile_up_in_the_index(store: RedisBackend, redis_server: Server) -> None:
    store.set(AGENT, {f"brief {number}": number for number in range(40)}, ttl=0.02)
    time.sleep(0.05)
    names = next(key for key in _keys(redis_server) if key.endswith("}names"))

    def only_the_new_one_is_left() -> bool:
        store.set(AGENT, {"long": 1})
        return redis_server.ask("ZCARD", names) == 1

    wait_until(only_the_new_one_is_left, "a tidy index")


def test_what_was_cleared_leaves_no_key_behind(store: RedisBackend, redis_server: Server) -> None:
    store.set(Namespace("acme", "campaign", "writer"), {f"key {number}": number for number in range(700)})
    assert store.clear(Workflow("acme", "campaign")) == 700
    assert _keys(redis_server) == []


def test_a_foreign_value_is_an_error_and_not_an_answer(store: RedisBackend, redis_server: Server) -> None:
    store.set(AGENT, {"draft": 1})
    key = next(key for key in _keys(redis_server) if key.endswith("draft"))
    redis_server.ask("SET", key, "no { json")
    with pytest.raises(Incompatible, match="draft"):
        store.get(AGENT, ["draft"])
    redis_server.ask("DEL", key)
    redis_server.ask("LPUSH", key, "list")
    with pytest.raises(Incompatible, match="WRONGTYPE"):
        store.get(AGENT, ["draft"])


def test_scripts_forgotten_by_the_server_are_sent_again(store: RedisBackend, redis_server: Server) -> None:
    store.set(AGENT, {"a": 1})
    redis_server.ask("SCRIPT", "FLUSH")
    store.set(AGENT, {"b": 2})
    assert store.count(AGENT) == 2


def test_a_full_server_is_unavailable_and_nothing_half_written(mortal_server: Server) -> None:
    with RedisBackend(mortal_server.url) as store:
        store.set(AGENT, {"a": 1})
        mortal_server.ask("CONFIG", "SET", "maxmemory", 1)
        with pytest.raises(Unavailable, match="OutOfMemory"):
            store.set(AGENT, {"b": 2})
        assert store.keys(AGENT) == ["a"]
        mortal_server.ask("CONFIG", "SET", "maxmemory", 0)
        store.set(AGENT, {"b": 2})
        assert store.keys(AGENT) == ["a", "b"]


def test_a_killed_server_is_unavailable_until_it_is_back(mortal_server: Server) -> None:
    with RedisBackend(mortal_server.url) as store:
        for _ in range(3):
            store.set(AGENT, {"a": 1})
            mortal_server.kill()
            with pytest.raises(Unavailable, match=f"127.0.0.1:{mortal_server.port}") as lost:
                store.get(AGENT, ["a"])
            assert lost.value.retry_after
            for use in (lambda: store.set(AGENT, {"a": 2}), lambda: store.clear(AGENT), lambda: store.count(Tenant())):
                with pytest.raises(Unavailable):
                    use()
            mortal_server.start()
            assert store.get(AGENT, ["a"]) == {}


def test_a_restart_between_two_calls_goes_unnoticed(mortal_server: Server) -> None:
    with RedisBackend(mortal_server.url) as store:
        store.set(AGENT, {"a": 1})
        mortal_server.kill()
        mortal_server.start()
        store.set(AGENT, {"a": 2})
        assert store.get(AGENT, ["a"]) == {"a": 2}


def test_a_frozen_server_is_unavailable_in_time(mortal_server: Server) -> None:
    with RedisBackend(mortal_server.url, timeout=0.1) as store:
        store.set(AGENT, {"a": 1})
        mortal_server.freeze()
        started = time.monotonic()
        with pytest.raises(Unavailable, match="Timeout"):
            store.get(AGENT, ["a"])
        assert time.monotonic() - started < 2
        mortal_server.thaw()
        assert store.get(AGENT, ["a"]) == {"a": 1}


def test_nobody_there_is_said_with_the_url_but_not_the_password(mortal_server: Server) -> None:
    mortal_server.kill()
    for scheme in ("redis", "redis+cluster"):
        with pytest.raises(
            Unavailable, match=re.escape(f"{scheme}://me:***@127.0.0.1:{mortal_server.port}")
        ) as refused:
            RedisBackend(f"{scheme}://me:secret@127.0.0.1:{mortal_server.port}")
        assert "secret" not in str(refused.value)


def test_a_wrong_password_is_the_callers_to_change(mortal_server: Server) -> None:
    mortal_server.ask("CONFIG", "SET", "requirepass", "right")
    with pytest.raises(InvalidInput, match="password") as refused:
        RedisBackend(f"redis://:wrong@127.0.0.1:{mortal_server.port}")
    assert "wrong" not in str(refused.value)
    with RedisBackend(f"redis://:right@127.0.0.1:{mortal_server.port}") as store:
        store.set(AGENT, {"a": 1})
        assert "right" not in repr(store)


@pytest.mark.parametrize("url", ["", "localhost:6379", "http://localhost", "redis://me:secret@host:port/0"])
def test_what_is_no_redis_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="no Redis URL") as refused:
        RedisBackend(url)
    assert "secret" not in str(refused.value)


def test_a_url_or_timeout_of_no_use_is_refused() -> None:
    with pytest.raises(InvalidType, match="URL"):
        RedisBackend(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="timeout"):
        RedisBackend(timeout=0)


def test_a_server_that_may_not_write_now_is_unavailable(mortal_server: Server) -> None:
    with RedisBackend(mortal_server.url) as store:
        mortal_server.ask("CONFIG", "SET", "min-replicas-to-write", 1)
        with pytest.raises(Unavailable, match="NOREPLICAS"):
            store.set(AGENT, {"a": 1})
        mortal_server.ask("CONFIG", "SET", "min-replicas-to-write", 0)
        store.set(AGENT, {"a": 1})
        assert store.keys(AGENT) == ["a"]


@pytest.mark.parametrize("prefix", ["", "a{b", "a}"])
def test_a_prefix_that_would_break_the_hash_tag_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidInput, match="prefix"):
        RedisBackend(prefix=prefix)


def test_without_the_extra_the_install_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.exceptions", None)
    with pytest.raises(MissingExtra, match=r"memoranda\[redis\]"):
        RedisBackend()


def test_a_cluster_node_spoken_to_as_a_single_server_says_what_to_write(redis_cluster: Cluster) -> None:
    def write_everywhere(store: RedisBackend) -> None:
        for number in range(20):
            store.set(Namespace(agent=f"agent {number}"), {"a": 1})

    with RedisBackend(redis_cluster.nodes[0].url) as store, pytest.raises(Incompatible, match=r"redis\+cluster://"):
        write_everywhere(store)


def test_a_single_server_spoken_to_as_a_cluster_is_refused(redis_server: Server) -> None:
    with pytest.raises(Unavailable, match="cluster"):
        RedisBackend(f"redis+cluster://127.0.0.1:{redis_server.port}")


def test_any_live_node_leads_to_the_cluster(redis_cluster: Cluster, mortal_server: Server) -> None:
    mortal_server.kill()
    dead = f"redis+cluster://127.0.0.1:{mortal_server.port}"
    with RedisBackend(f"{dead},127.0.0.1:{redis_cluster.nodes[2].port}") as store:
        store.set(AGENT, {"a": 1})
        assert store.get(AGENT, ["a"]) == {"a": 1}


def test_a_cluster_that_lost_a_node_is_unavailable_until_it_is_back(mortal_cluster: Cluster) -> None:
    spaces = [Namespace(workflow=f"workflow {number}") for number in range(12)]
    with RedisBackend(mortal_cluster.url) as store:
        for space in spaces:
            store.set(space, {"a": 1})
        mortal_cluster.nodes[1].kill()
        with pytest.raises(Unavailable):
            store.count(Tenant())
        mortal_cluster.nodes[1].start()
        mortal_cluster.wait_until_whole()
        for space in spaces:
            store.set(space, {"a": 2})
        assert all(store.get(space, ["a"]) == {"a": 2} for space in spaces)


def test_a_cluster_that_was_wholly_down_is_found_again(mortal_cluster: Cluster) -> None:
    with RedisBackend(mortal_cluster.url) as store:
        store.set(AGENT, {"a": 1})
        mortal_cluster.kill()
        for _ in range(2):
            with pytest.raises(Unavailable):
                store.get(AGENT, ["a"])
        for node in mortal_cluster.nodes:
            node.start()
        mortal_cluster.wait_until_whole()
        store.set(AGENT, {"a": 2})
        assert store.get(AGENT, ["a"]) == {"a": 2}


def _keys(server: Server) -> list[str]:
    found = server.ask("KEYS", "*")
    assert isinstance(found, list)
    return sorted(found)
