import Media
import Telemetry

/// Gives pictures that are encoded what viewers get beside their samples, and counts what goes out.
///
/// Confined to the encode thread.
struct CaptionCarrier {
    private let captions: Captions
    private let counters: StreamCounters

    init(_ channels: StreamChannels) {
        captions = channels.captions
        counters = channels.books.counters
    }

    /// What the picture of this time carries: its own, and what pictures before it had that were dropped.
    func take(upTo time: MediaTime) -> PictureUserData? {
        let (data, dropped) = captions.take(upTo: time)
        drop(dropped)
        return data
    }

    /// The next picture carries what a picture was to carry that gave no unit.
    func settle(_ data: PictureUserData, at time: MediaTime, isDelivered: Bool) {
        if isDelivered {
            counters.add(.captionsPassed, UInt64(data.validPieces))
        } else {
            drop(captions.record(data, at: time))
        }
    }

    /// No more pictures are encoded.
    func finish() { drop(captions.finish()) }

    private func drop(_ pieces: Int) { if pieces > 0 { counters.add(.captionsDropped, UInt64(pieces)) } }
}
