"""``tailrace demo``: a worker and a consumer in processes of their own, kills, and a proof."""
