"""The paper's two policies."""
