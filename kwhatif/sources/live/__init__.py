"""State from a live cluster. Imported only when it is used: the official client is slow to import.

The client does what it does well: kubeconfig, authentication, TLS. Bodies are read raw and go through the decoder of
files; its typed models would cost seconds and gigabytes. Nothing but GET is ever sent.
"""

from kwhatif.sources.live.kubeconfig import LiveOptions
from kwhatif.sources.live.read import read_live

__all__ = ["LiveOptions", "read_live"]
