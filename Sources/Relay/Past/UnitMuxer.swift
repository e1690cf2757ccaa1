import Container
import Media

/// Writes kept units as a transport stream, whose counters run on where the layout changes.
///
/// Confined to one thread.
struct UnitMuxer {
    private var muxer: TransportStreamMuxer?
    private var layout = -1

    /// Adds the packets of a unit.
    /// - Parameters:
    ///   - unit: its bytes, with those before it.
    ///   - find: gives a layout by its number.
    /// - Returns: false where the layout is not known any more.
    mutating func write(
        _ kept: PastUnit, _ unit: [UInt8], layout find: (Int) -> TransportStreamLayout?, into bytes: inout [UInt8]
    ) -> Bool {
        if kept.layout != layout {
            guard let description = find(kept.layout), let adopted = try? TransportStreamMuxer(description, continuing: muxer)
            else { return false }
            (muxer, layout) = (adopted, kept.layout)
        }
        guard let muxer else { return false }
        unsafe unit.withUnsafeBytes { all in
            let head = unsafe UnsafeRawBufferPointer(rebasing: all[..<kept.headCount])
            let body = unsafe UnsafeRawBufferPointer(rebasing: all[kept.headCount...])
            if let stream = kept.stream {
                guard Int(stream) < muxer.layout.passedStreams.count else { return }
                unsafe muxer.writePassed(
                    stream: Int(stream), header: head, body, presentationTime: kept.presentation,
                    decodeTime: kept.decode < kept.presentation ? kept.decode : nil
                ) { unsafe bytes.append(contentsOf: $0) }
            } else {
                unsafe muxer.writeVideo(
                    body, presentationTime: kept.presentation, decodeTime: kept.decode, isKeyframe: kept.isEntry,
                    isTimed: kept.isTimed
                ) { unsafe bytes.append(contentsOf: $0) }
            }
        }
        return true
    }
}
