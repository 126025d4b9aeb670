"""Python: parsing, data flow, structural checks and edits, over the standard `ast`."""
