"""Values that an agent stores under a key, for the current task or permanently."""

from memoranda import MemoryManager

# Initialize memory manager
memory_manager = MemoryManager()

# Save short-term memory
memory_manager.save(
    agent_id="marketing_strategy_agent",
    key="current_campaign",
    value={"name": "Q1 Launch", "budget": 50000},
    memory_type="short_term",
)

# Retrieve short-term memory
campaign = memory_manager.retrieve(
    agent_id="marketing_strategy_agent", key="current_campaign", memory_type="short_term"
)
print(campaign)

# Save long-term memory
memory_manager.save(
    agent_id="marketing_strategy_agent",
    key="best_practices",
    value=["Personalize emails", "A/B test headlines"],
    memory_type="long_term",
)

# Find relevant past experiences
similar = memory_manager.search_similar(
    agent_id="marketing_strategy_agent", query="successful email campaigns", top_k=5
)
for hit in similar:
    print(f"{hit.score:.2f} {hit.content}")

stats = memory_manager.get_stats()
print(f"Short-term entries: {stats['short_term_entries']}")
print(f"Long-term entries: {stats['long_term_entries']}")
memory_manager.close()
