"""The cluster service: who does what.

Owns workers, leases, plan generations, the assignment and its epochs.
Promises one owner of each task at any time, and that a change moves only the tasks that must move.
Never loads plugin code, never sees a record and never talks to a worker: workers come, ask and listen.
"""
