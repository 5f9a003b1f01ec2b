"""Kill-safe workers: publish, plan, export, back up, delete. They may simulate; the service may not."""
