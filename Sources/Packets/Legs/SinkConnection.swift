/// One of a sink's connections, as the one who sends names it.
public struct SinkConnection: Hashable, Sendable {
    /// Below ``Sink/places``.
    public let place: Int
    /// libsrt's number of the socket, or the viewer's of a call; 0 where nothing is connected.
    package let socket: Int32

    package init(place: Int, socket: Int32) { (self.place, self.socket) = (place, socket) }
}
