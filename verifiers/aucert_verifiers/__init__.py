"""The ladder: one module or folder for each rung, from free and certain to slow and judged."""
