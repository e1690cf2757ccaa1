import Endpoint
import Media

/// Carries a viewer's packets over plain UDP, and reads what comes back on a thread of its own, so that lost packets go out
/// again at once.
package final class UDPCallSink: Sendable {
    package let viewers = RTPViewers(capacity: 1)
    private let wire: Wire
    private let bell = Bell()
    private let thread = Lock<StageThread?>(nil)

    private final class Wire: RTPSendWire {
        let sockets: [CallSocket]

        init(_ sockets: [CallSocket]) { self.sockets = sockets }

        func send(_ packet: UnsafeRawBufferPointer, isControl: Bool, track: Int) -> Sent {
            unsafe sockets[track].send(packet, isControl: isControl)
        }
    }

    init(_ tracks: [RTPTrack], _ sockets: [CallSocket], peer: String) {
        wire = Wire(sockets)
        guard let viewer = viewers.add(tracks, wire, peer: peer) else { return }
        let started = StageThread(name: "rtp-feedback") { [sockets, bell] in Self.readFeedback(sockets, bell, viewer) }
        thread.withLock { $0 = started }
    }

    deinit { close() }

    /// Says goodbye and ends the thread.
    package func close() {
        for viewer in viewers.viewers { viewers.remove(viewer) }
        bell.ring()
        thread.withLock { $0.take() }?.join()
    }

    /// How many datagrams of a track are read before the others get their turn.
    private static let mostAtOnce = 64

    /// Runs until the bell is rung.
    private static func readFeedback(_ sockets: [CallSocket], _ bell: Bell, _ viewer: RTPViewer) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: RTPFeed.largest, alignment: 64)
        defer { unsafe buffer.deallocate() }
        let numbers = sockets.flatMap(\.numbers)
        let none = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
        while waitForDatagrams(numbers, or: bell, until: .now() + .seconds(60)) {
            for socket in sockets {
                // Whoever sends without a pause does not keep the thread from the bell.
                for _ in 0..<mostAtOnce {
                    guard let came = unsafe socket.stream.receive(none, buffer) ?? socket.receiveControl(into: buffer)
                    else { break }
                    // Whoever else sends reports would have us send again, send keyframes, and send less.
                    guard !came.isCut, socket.mayBePeer(came.sender) else {
                        viewer.countUnexpected()
                        continue
                    }
                    let datagram = unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<came.byteCount])
                    unsafe viewer.receive(datagram, at: .now())
                }
            }
        }
    }
}
