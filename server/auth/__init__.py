"""Who sends a request: asked behind the gate, before the body is read."""

from ksqlpy.server.auth.login import Login, is_configured
from ksqlpy.server.auth.middleware import Access, Auth, access_of, principal_of

__all__ = ["Access", "Auth", "Login", "access_of", "is_configured", "principal_of"]
