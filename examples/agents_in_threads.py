"""Agents in several threads share one manager and one session."""

from concurrent.futures import ThreadPoolExecutor

from memoranda import BaseAgent, MemoryManager, SessionContext, create_session


class Reader(BaseAgent):
    """Reads some pages and tells the other agents."""

    def work(self, session: SessionContext, pages: range) -> int:
        for page in pages:
            session.add_conversation_message(self.agent_id, "assistant", f"page {page} is read")
            self.record_execution({"status": "success", "page": page, "duration_ms": 5})
        session.save_agent_memory(self.agent_id, "pages", list(pages))
        self.save_to_memory("last_page", pages[-1], memory_type="long_term")
        return len(pages)


def main() -> None:
    with MemoryManager() as memory_manager, create_session("reading", memory_manager) as session:
        readers = [Reader(f"reader_{number}", memory_manager=memory_manager) for number in range(4)]
        shares = [range(5 * number + 1, 5 * number + 6) for number in range(4)]
        with ThreadPoolExecutor() as pool:
            read = list(pool.map(lambda reader, share: reader.work(session, share), readers, shares))
        print(f"{sum(read)} pages read, {len(session.get_conversation_history())} messages")
        for reader in readers:
            pages = session.retrieve_agent_memory(reader.agent_id, "pages")
            last = reader.retrieve_from_memory("last_page", memory_type="long_term")
            print(f"{reader.agent_id} read {pages} and continues after {last}")
        report = memory_manager.verify_executions()
        print(f"{report.checked} executions in one unbroken chain: {report.ok}")


if __name__ == "__main__":
    main()
