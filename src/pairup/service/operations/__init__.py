"""Operations: settings, logs, metrics, keys, warm-up, and the server itself."""
