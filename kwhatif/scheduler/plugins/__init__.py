"""One module per upstream plugin, under upstream's name; `catalog` lists them."""
