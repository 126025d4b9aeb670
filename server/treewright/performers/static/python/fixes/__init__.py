"""Concrete edits for findings: each recipe looks at one place and says what text to put there, or nothing.

A recipe only proposes. `verify` applies the edits, parses the result and runs the analysis again; what does not
clear the finding is not offered.
"""
