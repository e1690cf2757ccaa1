import Media
import Packets
import Telemetry

/// One that receives a coded stream: an output, or on an SRT listener each of its readers.
struct Receiver {
    /// The output's place among the stream's outputs.
    let output: Int
    let connection: SinkConnection
    /// It gets coded units as RTP payloads, and no messages of the multiplex.
    let takesMedia: Bool
    /// Otherwise it gets sound alone: no unit of video is due to it, and it needs no keyframe.
    let takesPictures: Bool
    /// What its program shows alone, so that it gets the one more encode in this codec, or sound alone; nil for any H.264.
    var takesOnly: ExtraEncoding.Codec?
    /// Whether it waits for a keyframe.
    var keyframe: KeyframeDebt
    /// Whether everything of the unit that goes out now has been accepted.
    var isWhole = false
    /// Whether it gets all frames, where it is a call's.
    var pace = CallPace()
    /// Which layer a call's receiver gets, and by what their link carries.
    var layers = LayerSwitch()
    var choice = LayerChoice()
    /// The unit that goes out now is of its layer.
    var isDue = false
    /// What became of the units that were due to it.
    var books = OutputBooks()
}

/// The messages of one unit, for the receivers behind the first. It grows to the largest unit and stays.
///
/// Confined to one thread at a time.
@safe struct MessageCopies: ~Copyable {
    private var bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 16)
    private var ends: [Int] = []

    init() { ends.reserveCapacity(256) }
    deinit { unsafe bytes.deallocate() }

    mutating func removeAll() { ends.removeAll(keepingCapacity: true) }

    mutating func append(_ message: UnsafeRawBufferPointer) {
        let start = ends.last ?? 0
        if unsafe start + message.count > bytes.count { grow(to: start + message.count) }
        unsafe (bytes.baseAddress! + start).copyMemory(from: message.baseAddress!, byteCount: message.count)
        ends.append(start + message.count)
    }

    private mutating func grow(to count: Int) {
        let larger = unsafe UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, bytes.count * 2), alignment: 16)
        unsafe larger.copyMemory(from: UnsafeRawBufferPointer(bytes))
        unsafe bytes.deallocate()
        unsafe bytes = larger
    }

    var count: Int { ends.count }

    /// A message, valid until the next ``append(_:)`` or ``removeAll()``.
    subscript(_ number: Int) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(
            rebasing: UnsafeRawBufferPointer(bytes)[(number == 0 ? 0 : ends[number - 1])..<ends[number]])
    }
}
