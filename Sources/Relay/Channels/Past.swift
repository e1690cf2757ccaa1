import Container
import Media
import Settings

/// Channel: the last seconds of what came in and of what went out, as coded units.
///
/// - Writers: ingest (``input``), whoever sends, under the send stage's lock (``output``), and whoever sets a mask (``follow(_:)``).
/// - Readers: ``PastDesk``, the observer (``PastRing/extent``).
///
/// While a mask is set nothing of the input is kept, and what was kept before is forgotten on both sides: it shows what nobody is to
/// see any more.
///
/// Thread-safe. There is none where the setting `past` is 0.
final class Past: Sendable {
    let input, output: PastRing

    /// The output has at most twice the input's bits, unless somebody says otherwise.
    private static let inputShare = 3

    /// - Returns: nil where nothing is to be kept.
    init?(_ options: StreamOptions) {
        guard options.past > .zero else { return nil }
        let share = options.pastMemory / Self.inputShare
        input = PastRing(byteCount: share, duration: options.past)
        output = PastRing(byteCount: options.pastMemory - share, duration: options.past)
    }

    /// Call it after each change of the settings, from one thread at a time.
    func follow(_ settings: LiveSettings) {
        let number = settings.maskNumber
        output.forget(masksBefore: number)
        if settings.holdsBypass { input.close() } else { input.open() }
    }
}
