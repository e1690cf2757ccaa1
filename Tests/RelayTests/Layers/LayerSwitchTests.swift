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

    /// From one encode to the other and back: the pictures of the first end, and those of the other begin behind them with a keyframe.
    @Test func fromOneEncodeToTheOther() {
        var layers = LayerSwitch()
        for picture in 0..<3 { #expect(layers.takesEnhanced(isKeyframe: picture == 0, at: Self.time(picture)) == true) }
        layers.want(.small)
        #expect(layers.keyframeBehind(isEncoding: false, at: Self.at(3)) == nil)
        #expect(layers.takesEnhanced(isKeyframe: false, at: Self.time(3)) == true)
        #expect(layers.keyframeBehind(isEncoding: true, at: Self.at(4)) == Self.time(3))
        // It comes behind the main encode of the same picture, so its keyframe is the next picture's.
        #expect(layers.takesEnhanced(isKeyframe: false, at: Self.time(4)) == false)
        #expect(!layers.takesSmall(isKeyframe: true, at: Self.time(3)) && layers.takesSmall(isKeyframe: true, at: Self.time(4)))
        #expect(layers.present == .small && layers.takesSmall(isKeyframe: false, at: Self.time(5)))
        #expect(layers.takesEnhanced(isKeyframe: true, at: Self.time(5)) == false)
        layers.want(.enhanced)
        #expect(layers.keyframeBehind(isEncoding: true, at: Self.at(6)) == Self.time(5))
        #expect(
            !layers.takesSmall(isKeyframe: false, at: Self.time(6)) && layers.takesEnhanced(isKeyframe: true, at: Self.time(6)))
        // The publisher's pictures come before, so they need no pause.
        layers.want(.small)
        _ = layers.keyframeBehind(isEncoding: true, at: Self.at(7))
        #expect(layers.takesSmall(isKeyframe: true, at: Self.time(7)) == true)
        layers.want(.sent)
        #expect(layers.takesSmall(isKeyframe: false, at: Self.time(8)) && layers.takesSent(isKeyframe: true, at: Self.time(10)))
        #expect(layers.takesSmall(isKeyframe: true, at: Self.time(11)) == false)
    }

    /// The other encoder gives no keyframe, or the viewer is to stay: what was left out meanwhile needs a keyframe.
    @Test func whoStaysWithAnEncodeGetsAKeyframeOfIt() {
        for isTakenBack in [false, true] {
            var layers = LayerSwitch()
            _ = layers.takesEnhanced(isKeyframe: true, at: Self.time(0))
            layers.want(.small)
            // Nothing is left out before the other encoder works.
            var other = layers
            #expect(other.want(.enhanced) == false)
            #expect(layers.keyframeBehind(isEncoding: true, at: Self.at(1)) == Self.time(0))
            #expect(layers.takesEnhanced(isKeyframe: false, at: Self.time(1)) == false)
            #expect(isTakenBack ? layers.want(.enhanced) : layers.giveUp(at: Self.at(40)))
            #expect(layers.present == .enhanced && layers.takesEnhanced(isKeyframe: true, at: Self.time(40)))
        }
    }

    /// A program that shows nothing of the other codec begins with the one more encode.
    @Test func whoBeginsWithSoundGetsTheOtherEncodeFromItsKeyframeOn() {
        var layers = LayerSwitch(.sound)
        layers.want(.small)
        #expect(layers.keyframeBehind(isEncoding: true, at: Self.at(1)) != nil)
        #expect(
            !layers.takesEnhanced(isKeyframe: true, at: Self.time(1)) && !layers.takesSent(isKeyframe: true, at: Self.time(1)))
        #expect(
            !layers.takesSmall(isKeyframe: false, at: Self.time(1)) && layers.takesSmall(isKeyframe: true, at: Self.time(2)))
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
