"""The LLM engine: any language model behind the four roles."""
