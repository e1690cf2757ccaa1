import Container
import Media
import Packets

/// A coded unit for receivers that get media without a multiplex.
@safe struct MediaUnit {
    let kind: RTPViewer.Kind
    /// A byte stream of H.264, a frame of VP8, or packets of Opus with their control headers. Borrowed for a call.
    @unsafe let bytes: UnsafeRawBufferPointer
    let presentation: MediaTime
    /// When the picture was taken, by its sender's clock (NTP's 32.32 bits); nil where they do not say.
    var captureTime: UInt64?
    /// False for one packet of Opus that has none.
    var hasControlHeaders = true
    /// A picture in VP8, not H.264.
    var isVP8 = false
}

/// Cuts units into payloads, once for all receivers.
///
/// Confined to one thread at a time.
struct MediaPayloads: ~Copyable {
    /// What fits one packet on any way, with the headers of RTP, SRTP, UDP and IPv6.
    static let largest = 1150

    private var h264 = H264Packetiser(largest: Self.largest)
    private var vp8 = VP8Packetiser(largest: Self.largest)

    /// - Parameter emit: gets each payload in two pieces, its time, and whether it is the last of its picture.
    mutating func forEach(
        of unit: MediaUnit,
        emit: (_ head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, _ time: MediaTime, _ isMarked: Bool) -> Void
    ) {
        switch unit.kind {
        case .video where unit.isVP8:
            unsafe vp8.packetise(unit.bytes) { head, body, isLast in unsafe emit(head, body, unit.presentation, isLast) }
        case .video:
            unsafe h264.packetise(unit.bytes) { head, body, isLast in unsafe emit(head, body, unit.presentation, isLast) }
        case .sound:
            let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
            guard unit.hasControlHeaders else { return unsafe emit(unit.bytes, none, unit.presentation, false) }
            unsafe OpusPayload.forEachPacket(in: unit.bytes) { packet, samples in
                let ticks = Int64(samples) * MediaTime.ticksPerSecond / Int64(OpusPayload.clockRate)
                unsafe emit(packet, none, unit.presentation + ticks, false)
            }
        }
    }
}
