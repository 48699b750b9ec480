from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from memoranda.errors import Incompatible, InvalidInput, InvalidType, MissingExtra, Unavailable
from memoranda.sessions.base import Namespace, Tenant, Workflow
from memoranda.sessions.redis import RedisBackend, get_redis_client
from memoranda.testing.values import ValueStoreContract
from tests.redis_servers.servers import Cluster, Server, wait_until

AGENT = Namespace(agent="writer")


class RedisContract(ValueStoreContract):
    def advance(self, seconds: float) -> None:
        time.sleep(seconds)


class TestSingleServer(RedisContract):
    @pytest.fixture
    def store(self, redis_server: Server) -> Iterator[RedisBackend]:
        redis_server.execute("FLUSHALL")
        with RedisBackend(redis_server.url) as store:
            yield store


class TestCluster(RedisContract):
    @pytest.fixture
    def store(self, redis_cluster: Cluster) -> Iterator[RedisBackend]:
        for node in redis_cluster.nodes:
            node.execute("FLUSHALL")
        with RedisBackend(redis_cluster.url) as store:
            yield store

    def test_values_of_one_tenant_are_spread_over_the_nodes(self, store: RedisBackend, redis_cluster: Cluster) -> None:
        for number in range(60):
            store.set(Namespace(workflow=f"workflow {number}", agent="writer"), {"a": 1, "b": 2})
        assert all(int(str(node.execute("DBSIZE"))) > 20 for node in redis_cluster.nodes)
        assert store.count(Tenant()) == 120
        assert store.clear(Tenant()) == 120
        assert all(node.execute("DBSIZE") == 0 for node in redis_cluster.nodes)


@pytest.fixture
def store(redis_server: Server) -> Iterator[RedisBackend]:
    redis_server.execute("FLUSHALL")
    with RedisBackend(redis_server.url) as store:
        yield store


def test_client_of_redis_py_names_the_server(store: RedisBackend, redis_server: Server) -> None:
    client = Redis.from_url(redis_server.url, decode_responses=True)
    store.set(AGENT, {"draft": "headline"})
    with RedisBackend(client) as same:
        assert same.get(AGENT, ["draft"]) == {"draft": "headline"}
        plain: Any = same
        assert plain.set("draft", {"title": "Tea"}, ttl=60) is True
        assert (plain.get("draft"), plain.keys("d*"), plain.delete("draft"), plain.keys()) == (
            {"title": "Tea"}, ["draft"], True, [],
        )  # fmt: skip
    assert client.ping()
    with pytest.raises(InvalidType, match="client of redis-py"):
        RedisBackend(object())


def test_client_of_the_settings_is_for_their_server(redis_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_USE_REDIS", "true")
    monkeypatch.setenv("MEMORY_REDIS_URL", redis_server.url)
    client = get_redis_client()
    assert client is not None
    client.set("plain", "text")
    assert client.get("plain") == "text"
    assert client.delete("plain") == 1


def test_stores_with_one_prefix_share_their_values(store: RedisBackend, redis_server: Server) -> None:
    store.set(AGENT, {"draft": "headline"})
    with RedisBackend(redis_server.url) as same, RedisBackend(redis_server.url, prefix="others:") as other:
        assert same.get(AGENT, ["draft"]) == {"draft": "headline"}
        assert other.get(AGENT, ["draft"]) == {}
        assert other.clear(Tenant()) == 0
    assert store.count(AGENT) == 1


def test_redis_expires_values_and_index(store: RedisBackend, redis_server: Server) -> None:
    store.set(AGENT, {"draft": "headline"}, ttl=1)
    lifetimes = [int(str(redis_server.execute("PTTL", key))) for key in _keys(redis_server)]
    assert len(lifetimes) == 3
    assert all(0 < lifetime <= 2000 for lifetime in lifetimes)
    wait_until(lambda: not _keys(redis_server), "an empty server", seconds=10)


def test_expired_names_do_not_pile_up_in_the_index(store: RedisBackend, redis_server: Server) -> None:
    store.set(AGENT, {f"brief {number}": number for number in range(40)}, ttl=0.02)
    time.sleep(0.05)
    names = next(key for key in _keys(redis_server) if key.endswith("}names"))

    def has_only_the_new_name() -> bool:
        store.set(AGENT, {"long": 1})
        return redis_server.execute("ZCARD", names) == 1

    wait_until(has_only_the_new_name, "an index without expired names")


def test_clear_leaves_no_key(store: RedisBackend, redis_server: Server) -> None:
    store.set(Namespace("acme", "campaign", "writer"), {f"key {number}": number for number in range(700)})
    assert store.clear(Workflow("acme", "campaign")) == 700
    assert _keys(redis_server) == []


def test_value_of_another_program_raises(store: RedisBackend, redis_server: Server) -> None:
    store.set(AGENT, {"draft": 1})
    key = next(key for key in _keys(redis_server) if key.endswith("draft"))
    redis_server.execute("SET", key, "no { json")
    with pytest.raises(Incompatible, match="draft"):
        store.get(AGENT, ["draft"])
    redis_server.execute("DEL", key)
    redis_server.execute("LPUSH", key, "list")
    with pytest.raises(Incompatible, match="WRONGTYPE"):
        store.get(AGENT, ["draft"])


def test_scripts_are_sent_again_after_the_server_lost_them(store: RedisBackend, redis_server: Server) -> None:
    store.set(AGENT, {"a": 1})
    redis_server.execute("SCRIPT", "FLUSH")
    store.set(AGENT, {"b": 2})
    assert store.count(AGENT) == 2


def test_full_server_is_unavailable_and_nothing_is_half_written(own_server: Server) -> None:
    with RedisBackend(own_server.url) as store:
        store.set(AGENT, {"a": 1})
        own_server.execute("CONFIG", "SET", "maxmemory", 1)
        with pytest.raises(Unavailable, match="OutOfMemory"):
            store.set(AGENT, {"b": 2})
        assert store.keys(AGENT) == ["a"]
        own_server.execute("CONFIG", "SET", "maxmemory", 0)
        store.set(AGENT, {"b": 2})
        assert store.keys(AGENT) == ["a", "b"]


def test_killed_server_is_unavailable_until_it_is_back(own_server: Server) -> None:
    with RedisBackend(own_server.url) as store:
        for _ in range(3):
            store.set(AGENT, {"a": 1})
            own_server.kill()
            with pytest.raises(Unavailable, match=f"127.0.0.1:{own_server.port}") as raised:
                store.get(AGENT, ["a"])
            assert raised.value.retry_after
            for use in (lambda: store.set(AGENT, {"a": 2}), lambda: store.clear(AGENT), lambda: store.count(Tenant())):
                with pytest.raises(Unavailable):
                    use()
            own_server.start()
            assert store.get(AGENT, ["a"]) == {}


def test_restart_between_two_calls_raises_nothing(own_server: Server) -> None:
    with RedisBackend(own_server.url) as store:
        store.set(AGENT, {"a": 1})
        own_server.kill()
        own_server.start()
        store.set(AGENT, {"a": 2})
        assert store.get(AGENT, ["a"]) == {"a": 2}


def test_suspended_server_is_unavailable_after_the_timeout(own_server: Server) -> None:
    with RedisBackend(own_server.url, timeout=0.1) as store:
        store.set(AGENT, {"a": 1})
        own_server.suspend()
        started = time.monotonic()
        with pytest.raises(Unavailable, match="Timeout"):
            store.get(AGENT, ["a"])
        assert time.monotonic() - started < 2
        own_server.resume()
        assert store.get(AGENT, ["a"]) == {"a": 1}


def test_error_without_a_server_has_the_url_but_not_the_password(own_server: Server) -> None:
    own_server.kill()
    for scheme in ("redis", "redis+cluster"):
        with pytest.raises(Unavailable, match=re.escape(f"{scheme}://me:***@127.0.0.1:{own_server.port}")) as raised:
            RedisBackend(f"{scheme}://me:secret@127.0.0.1:{own_server.port}")
        assert "secret" not in str(raised.value)


def test_wrong_password_is_invalid_input(own_server: Server) -> None:
    own_server.execute("CONFIG", "SET", "requirepass", "right")
    with pytest.raises(InvalidInput, match="password") as raised:
        RedisBackend(f"redis://:wrong@127.0.0.1:{own_server.port}")
    assert "wrong" not in str(raised.value)
    with RedisBackend(f"redis://:right@127.0.0.1:{own_server.port}") as store:
        store.set(AGENT, {"a": 1})
        assert "right" not in repr(store)


@pytest.mark.parametrize("url", ["", "localhost:6379", "http://localhost", "redis://me:secret@host:port/0"])
def test_invalid_url_raises(url: str) -> None:
    with pytest.raises(InvalidInput, match="not a Redis URL") as raised:
        RedisBackend(url)
    assert "secret" not in str(raised.value)


def test_invalid_url_type_and_timeout_raise() -> None:
    with pytest.raises(InvalidType, match="URL"):
        RedisBackend(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="timeout"):
        RedisBackend(timeout=0)


def test_server_without_its_replicas_is_unavailable(own_server: Server) -> None:
    with RedisBackend(own_server.url) as store:
        own_server.execute("CONFIG", "SET", "min-replicas-to-write", 1)
        with pytest.raises(Unavailable, match="NOREPLICAS"):
            store.set(AGENT, {"a": 1})
        own_server.execute("CONFIG", "SET", "min-replicas-to-write", 0)
        store.set(AGENT, {"a": 1})
        assert store.keys(AGENT) == ["a"]


@pytest.mark.parametrize("prefix", ["", "a{b", "a}"])
def test_prefix_that_breaks_the_hash_tag_raises(prefix: str) -> None:
    with pytest.raises(InvalidInput, match="prefix"):
        RedisBackend(prefix=prefix)


def test_missing_extra_error_has_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.exceptions", None)
    with pytest.raises(MissingExtra, match=r"memoranda\[redis\]"):
        RedisBackend()


def test_single_server_url_of_a_cluster_node_raises(redis_cluster: Cluster) -> None:
    def write_to_all_nodes(store: RedisBackend) -> None:
        for number in range(20):
            store.set(Namespace(agent=f"agent {number}"), {"a": 1})

    with RedisBackend(redis_cluster.nodes[0].url) as store, pytest.raises(Incompatible, match=r"redis\+cluster://"):
        write_to_all_nodes(store)


def test_cluster_url_of_a_single_server_raises(redis_server: Server) -> None:
    with pytest.raises(Unavailable, match="cluster"):
        RedisBackend(f"redis+cluster://127.0.0.1:{redis_server.port}")


def test_one_live_node_is_enough_to_connect(redis_cluster: Cluster, own_server: Server) -> None:
    own_server.kill()
    dead = f"redis+cluster://127.0.0.1:{own_server.port}"
    with RedisBackend(f"{dead},127.0.0.1:{redis_cluster.nodes[2].port}") as store:
        store.set(AGENT, {"a": 1})
        assert store.get(AGENT, ["a"]) == {"a": 1}


def test_cluster_without_a_node_is_unavailable_until_it_is_back(own_cluster: Cluster) -> None:
    namespaces = [Namespace(workflow=f"workflow {number}") for number in range(12)]
    with RedisBackend(own_cluster.url) as store:
        for namespace in namespaces:
            store.set(namespace, {"a": 1})
        own_cluster.nodes[1].kill()
        with pytest.raises(Unavailable):
            store.count(Tenant())
        own_cluster.nodes[1].start()
        own_cluster.wait_until_ready()
        for namespace in namespaces:
            store.set(namespace, {"a": 2})
        assert all(store.get(namespace, ["a"]) == {"a": 2} for namespace in namespaces)


def test_cluster_is_usable_after_all_nodes_were_down(own_cluster: Cluster) -> None:
    with RedisBackend(own_cluster.url) as store:
        store.set(AGENT, {"a": 1})
        own_cluster.kill()
        for _ in range(2):
            with pytest.raises(Unavailable):
                store.get(AGENT, ["a"])
        for node in own_cluster.nodes:
            node.start()
        own_cluster.wait_until_ready()
        store.set(AGENT, {"a": 2})
        assert store.get(AGENT, ["a"]) == {"a": 2}


def _keys(server: Server) -> list[str]:
    found = server.execute("KEYS", "*")
    assert isinstance(found, list)
    return sorted(found)
