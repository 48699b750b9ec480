"""Redaction of secrets, encryption, the fence around recalled text, and ids that tell nothing."""
