"""Long work that the console asks for: a queue, and workers that publish, plan and delete.

A worker may be killed at any moment: its job is taken up again, and ends once with a whole result
or none. Jobs may simulate people; the collector and the console may not.
"""
