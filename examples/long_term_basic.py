"""Store a memory and find it by its meaning."""

from memoranda import MemoryManager, MemoryType

# Initialize the memory manager
with MemoryManager("sqlite:///memories.db") as memory_manager:
    # Add a memory
    memory = memory_manager.add_memory(
        content="The user's favorite color is blue",
        memory_type=MemoryType.SEMANTIC,
        source="user_input",
        metadata={"importance": 0.8},
    )

    # Search for similar memories
    results = memory_manager.search_memories(
        "What color does the user like?", memory_types=[MemoryType.SEMANTIC], limit=3
    )

    for result in results:
        print(f"Score: {result['score']:.3f} - {result['memory'].content}")
