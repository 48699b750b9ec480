"""Store several memories, link them, and clean up old and unimportant ones."""

from memoranda import MemoryManager, MemoryType

# Initialize with custom settings
memory_manager = MemoryManager(
    db_url="sqlite:///memories.db",
    faiss_index_path="memories.faiss",
)

try:
    # Add multiple memories
    memories = [
        ("The sky is blue", MemoryType.SEMANTIC, "system"),
        ("I like pizza", MemoryType.EPISODIC, "user"),
        ("Python is a programming language", MemoryType.SEMANTIC, "system"),
    ]

    for content, mem_type, source in memories:
        memory_manager.add_memory(content=content, memory_type=mem_type, source=source, metadata={"importance": 0.7})

    # Create associations between memories
    memory_manager.add_memory_association(
        memory_id=1, related_memory_id=3, relationship_type="related_to", strength=0.8
    )

    # Get related memories
    related = memory_manager.get_related_memories(memory_id=1, relationship_type="related_to")
    for memory in related:
        print(f"{memory.relationship_type} ({memory.strength:.1f}): {memory.content}")

    # Clean up old memories
    stats = memory_manager.cleanup_old_memories(max_age_days=30, min_importance=0.3, dry_run=False)
    print(f"Removed {stats['removed']} of {stats['examined']} examined")

finally:
    # Ensure resources are properly cleaned up
    memory_manager.close()
