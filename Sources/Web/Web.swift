import Control
import Hummingbird

/// The HTTP interface of the service.
public enum Web {}
