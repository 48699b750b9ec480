"""Haystack pipelines on one SQLite file, without an embedding model of their own: pip install "memoranda[haystack]"."""

from haystack import Pipeline
from haystack.components.builders import PromptBuilder
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import Document

from memoranda.integrations.haystack import MemorandaDocumentStore, MemorandaRetriever

TEMPLATE = "{% for document in documents %}- {{ document.content }}\n{% endfor %}Question: {{ question }}"

store = MemorandaDocumentStore("documents.db")
indexing = Pipeline()
indexing.add_component("writer", DocumentWriter(store))
documents = [
    Document(content="Rex the dog eats only fish.", meta={"about": "pets"}),
    Document(content="The cat sleeps on the sofa.", meta={"about": "pets"}),
    Document(content="The harbour of Lisbon opens at six.", meta={"about": "work"}),
]
indexing.run({"writer": {"documents": documents}})

asking = Pipeline()
asking.add_component("retriever", MemorandaRetriever(store, top_k=1))
asking.add_component("prompt", PromptBuilder(TEMPLATE, required_variables=["documents", "question"]))
asking.connect("retriever.documents", "prompt.documents")

question = "What can I feed the dog?"
result = asking.run({"retriever": {"query": question}, "prompt": {"question": question}})
print(result["prompt"]["prompt"])

work = {"field": "meta.about", "operator": "==", "value": "work"}
print("with a filter:", store.search(question, filters=work)[0].content)
store.memory.close()
