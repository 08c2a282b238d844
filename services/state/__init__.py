"""The state service: what connectors and tasks really do.

Joins what is wanted (config), who holds what (cluster) and what workers report, so that nothing that is dead is shown as RUNNING.
Promises to refuse reports under an old epoch, and to say STALLED when a task with work to do makes no progress.
Never decides anything: it only tells.
"""
