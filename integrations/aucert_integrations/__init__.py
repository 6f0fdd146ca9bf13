"""Integrations: how the frameworks people use are verified. Each in its own room; none knows another."""
