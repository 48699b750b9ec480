"""CrewAI's memory in one SQLite file, with Memoranda's embedding model: pip install "memoranda[crewai]"."""

from crewai import Memory

from memoranda import EmbeddingModel, MemoryManager
from memoranda.integrations.crewai import MemorandaStorage

model = EmbeddingModel()


def embed(texts: list[str]) -> list[list[float]]:
    return [vector.tolist() for vector in model.encode(list(texts))]


with MemoryManager("crew.db") as manager:
    memory = Memory(storage=MemorandaStorage(manager, user="ann"), embedder=embed)

    # With scope, categories and importance given, CrewAI asks no language model where a memory belongs.
    for text in ("Rex the dog eats only fish.", "The harbour of Lisbon opens at six."):
        memory.remember(text, scope="/home", categories=["facts"], importance=0.5)

    for match in memory.recall("What can I feed the dog?", depth="shallow", limit=1):
        print("crewai recalls:", match.record.content)
    memory.close()

    # The same records, by Memoranda's own recall.
    print("memoranda recalls:", manager.recall("When does the harbour open?", user="ann")[0].content)
