"""What in this cluster will hurt: many what-ifs, and what is wrong after them, by cause.

scenario    one what-if, and what it is asked of: `Stage`
harms       what is worse at the end of a played what-if, as rows
causes      why a pod finds no node
probes      which what-ifs are asked, one class for each kind
standing    the probes of the cluster as it is
findings    harms of one cause are one finding, with an identifier that stays; the worst first
fixes       the smallest change with which the finding is gone
audit       all of it
"""
