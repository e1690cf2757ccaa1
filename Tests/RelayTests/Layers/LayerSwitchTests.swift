import Media
import Testing
@testable import Relay

/// A viewer who is taken from one layer to another, picture by picture.
struct LayerSwitchTests {
    private static func time(_ picture: Int) -> MediaTime { MediaTime(ticks: Int64(picture) * 3_000) }
    private static func at(_ picture: Int) -> MonotonicTime { MonotonicTime(nanoseconds: Int64(picture) * 33_000_000) }

    /// The publisher's pictures come when they are taken, the encoder's three pictures later. Whoever asks for a keyframe behind a
    /// picture gets it in the first one.
    private struct Stream {
        var layers = LayerSwitch()
        var keyframe: MediaTime?
        var sourceKeyframes: Set<Int> = []
        private(set) var shown: [(picture: Int, layer: ViewerLayer, isKeyframe: Bool)] = []
        static let delay = 3

        mutating func run(_ pictures: Range<Int>) {
            for picture in pictures {
                let isKeyframe = sourceKeyframes.contains(picture)
                if layers.takesSent(isKeyframe: isKeyframe, at: time(picture)) { shown.append((picture, .sent, isKeyframe)) }
                if let wanted = layers.keyframeBehind(isEncoding: true, at: at(picture)) { keyframe = wanted }
                let encoded = picture - Self.delay
                guard encoded >= 0 else { continue }
                let isForced = keyframe.map { time(encoded) > $0 } ?? false
                if isForced { keyframe = nil }
                if layers.takesEnhanced(isKeyframe: isForced || encoded == 0, at: time(encoded)) {
                    shown.append((encoded, .enhanced, isForced || encoded == 0))
                }
            }
        }

        /// Times go on, each layer begins with a keyframe, and so many pictures at most are missing in a row.
        func check(mostMissing: Int) {
            for (before, after) in zip(shown, shown.dropFirst()) {
                #expect(after.picture > before.picture && after.picture - before.picture <= mostMissing + 1, "\(shown)")
                #expect(after.layer == before.layer || after.isKeyframe, "\(shown)")
            }
        }
    }

    @Test func downWithTheSourcesKeyframeAndUpWithTheEncoders() {
        var stream = Stream()
        stream.sourceKeyframes = [0, 20, 30, 40, 50]
        stream.run(0..<15)
        stream.layers.want(.sent)
        #expect(stream.layers.awaitsSent)
        stream.run(15..<45)
        #expect(stream.layers.present == .sent && !stream.layers.awaitsSent && stream.shown.last?.picture == 44)
        stream.layers.want(.enhanced)
        stream.run(45..<70)
        #expect(stream.layers.present == .enhanced && stream.shown.last?.picture == 66)
        stream.check(mostMissing: Stream.delay)
        #expect(stream.shown.filter { $0.layer == .sent }.map(\.picture) == Array(20...45))
    }

    @Test func soundAloneBeginsAtOnceAndEndsWithAKeyframe() {
        var stream = Stream()
        stream.sourceKeyframes = [30]
        stream.run(0..<10)
        stream.layers.want(.sound)
        stream.run(10..<25)
        #expect(stream.layers.present == .sound && stream.shown.last?.picture == 6)
        stream.layers.want(.sent)
        stream.run(25..<35)
        stream.layers.want(.sound)
        stream.layers.want(.enhanced)
        stream.run(35..<45)
        #expect(
            stream.shown.map(\.layer) == [ViewerLayer](repeating: .enhanced, count: 7)
                + [ViewerLayer](repeating: .sent, count: 5) + [ViewerLayer](repeating: .enhanced, count: 7), "\(stream.shown)")
        stream.check(mostMissing: 30)
    }

    /// One who is to rise, and then is not, goes on where they are.
    @Test func aWishThatIsTakenBackCostsNothing() {
        var stream = Stream()
        stream.sourceKeyframes = [5]
        stream.layers.want(.sent)
        stream.run(0..<10)
        stream.layers.want(.enhanced)
        stream.layers.want(.sent)
        stream.run(10..<20)
        #expect(stream.shown.filter { $0.layer == .sent }.map(\.picture) == Array(5..<20))
    }

    /// The encoder gives none: they get the publisher's again, from a keyframe on.
    @Test func whoWaitsInVainGetsThePublishersAgain() {
        var layers = LayerSwitch()
        layers.want(.sent)
        #expect(layers.takesSent(isKeyframe: true, at: Self.time(0)) == true)
        layers.want(.enhanced)
        #expect(layers.keyframeBehind(isEncoding: false, at: Self.at(1)) == nil)
        #expect(layers.keyframeBehind(isEncoding: true, at: Self.at(1)) == Self.time(0))
        #expect(!layers.takesSent(isKeyframe: false, at: Self.time(1)) && !layers.giveUp(at: Self.at(20)))
        #expect(layers.giveUp(at: Self.at(40)) && layers.takesSent(isKeyframe: false, at: Self.time(40)))
    }

    /// The stream itself is bypassed: what goes out is the publisher's, and for all.
    @Test func aBypassIsForAll() {
        var (sent, enhanced, listener) = (LayerSwitch(), LayerSwitch(), LayerSwitch())
        sent.want(.sent)
        listener.want(.sound)
        for picture in 0..<5 {
            let isKeyframe = picture == 2
            #expect(sent.takes(isKeyframe: isKeyframe, isSent: true, at: Self.time(picture)) == true)
            #expect(enhanced.takes(isKeyframe: isKeyframe, isSent: true, at: Self.time(picture)) == true)
            #expect(listener.takes(isKeyframe: isKeyframe, isSent: true, at: Self.time(picture)) == false)
        }
        #expect(sent.present == .sent && enhanced.present == .enhanced)
    }
}
