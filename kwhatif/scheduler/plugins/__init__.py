"""The built-in plugins: a module or package for each, named as upstream; `catalog` lists them."""
