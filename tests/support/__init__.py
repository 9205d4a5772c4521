"""What the tests share: gates, a model that checks its requests, and machines without actors."""
