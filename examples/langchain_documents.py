"""LangChain documents in Memoranda: search, search with variety, and a retriever over everything that is remembered.

pip install "memoranda[langchain]"
"""

from memoranda import MemoryManager
from memoranda.integrations.langchain import MemorandaRetriever, MemorandaVectorStore

with MemoryManager("langchain.db") as memory:
    store = MemorandaVectorStore(memory, user="ann")
    texts = ["Green tea from Japan", "Green tea of Japan", "Black tea from India", "The car is red"]
    store.add_texts(texts, [{"year": 2023 + number} for number in range(4)], ids=["a", "b", "c", "d"])

    for document, score in store.similarity_search_with_score("green tea", k=2, filter={"year": {"gte": 2023}}):
        print(f"{score:.2f} {document.page_content}")

    varied = store.as_retriever(search_type="mmr", search_kwargs={"k": 2, "lambda_mult": 0.3})
    print([document.page_content for document in varied.invoke("green tea")])

    memory.remember("I never drink coffee after noon", user="ann")
    recalled = MemorandaRetriever(memory=memory, user="ann", limit=1)
    print(recalled.invoke("What about coffee?")[0].page_content)
