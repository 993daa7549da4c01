"""From paths to documents: files, archives and streams as text, and where in it an object stands."""
