"""Where models are called: one module a provider, each behind the `Provider` protocol."""
