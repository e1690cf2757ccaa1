import Media
import Testing
@testable import Packets
@testable import Relay

/// Which layer a viewer gets by what their link is found to carry, and what comes of it, in virtual time. Another viewer has a good link,
/// so the enhanced pictures keep their bits.
struct LayerByLinkTests {
    /// The layers of one viewer: a publisher of 1 Mb/s, the enhanced pictures, and a smaller encode.
    private final class Viewer {
        var choice = LayerChoice()
        var needs: LayerChoice.Needs
        let small = ExtraEncoding(codec: .h264, box: PictureSize(width: 320, height: 180), mostBits: 200_000)
        private let rates: ClosedRange<Int>
        private var pace = ExtraPace()
        private var next = MonotonicTime(nanoseconds: 0)
        private var start: MonotonicTime?
        /// Tells the session which layer there is.
        var follow: (ViewerLayer) -> Void = { _ in }
        /// The enhanced pictures follow this link, as they do for a viewer whose link is the poorest of those that get them, up to so many
        /// bits a second; nil: they have a rate of their own.
        var ceiling: Int?
        private(set) var changes: [(second: Double, layer: ViewerLayer)] = []
        /// When pictures of the smaller encode were there, seconds.
        private(set) var smallPictures: [Double] = []

        init() {
            rates = small.rates(of: small.box!)
            needs = LayerChoice.Needs(
                input: 1_000_000, encoded: 2_400_000, floor: nil, ceiling: 4_000_000, small: rates.lowerBound)
        }

        func picture(_ feedback: RTPSendSession.Feedback, at now: MonotonicTime) -> SimulatedCall.Pictures {
            let begin = start ?? now
            start = begin
            let before = choice.layer
            if now >= next {
                next = now + SlowReceivers.interval
                choice.observe(
                    feedback.capacity.map { Double($0) }, needs, isAlone: false, isProbed: feedback.canBeProbed, at: now)
            }
            let hasChanged = choice.layer != before
            follow(choice.layer)
            if hasChanged { changes.append(((now - begin).seconds, choice.layer)) }
            let sample = CallRate.Sample(RTPViewers.Report(id: 1, feedback: feedback))
            switch choice.layer {
            case .enhanced:
                let rate = ceiling.map { min($0, Int(clamping: sample.bitRate ?? .max)) } ?? 2_400_000
                return .init(bitRate: Double(rate), isKeyframe: hasChanged)
            case .sent:
                return .init(bitRate: Double(needs.sent! - LayerChoice.sound) / LayerChoice.peaks, isKeyframe: hasChanged)
            case .sound: return .init()
            case .small: break
            }
            let bits = min(max(Int(sample.bitRate ?? .max), rates.lowerBound), rates.upperBound)
            // One that is left out for want of bits is none of the layer's.
            guard pace.takes(small.box!, rate: 30, bits: bits) || hasChanged else { return .init() }
            smallPictures.append((now - begin).seconds)
            return .init(bitRate: Double(bits) * Double(pace.divisor), isKeyframe: hasChanged)
        }
    }

    private static func call(_ link: SimulatedLink, _ viewer: Viewer) -> SimulatedCall {
        let call = SimulatedCall(link)
        (call.asksAgain, call.reportsLosses) = (true, true)
        viewer.follow = { [unowned call] in (call.mayRepeatEarly, call.probesAlone) = ($0 == .small, $0 == .sound) }
        call.source = { viewer.picture($0, at: $1) }
        call.useful = UInt64(viewer.needs.useful(hasFloor: viewer.ceiling != nil, ceiling: 4_000_000)!)
        return call
    }

    /// 300 kb/s, 2 % loss and 80 ms each way for 40 s: the viewer falls to the smaller encode and stays there. Then the link is good.
    @Test(arguments: 1...8 as ClosedRange<UInt64>) func aPoorLinkGetsTheSmallerEncode(seed: UInt64) {
        var link = SimulatedLink { $0.seconds < 40 ? 300_000 : 8_000_000 }
        (link.delay, link.loss, link.random) = (.milliseconds(80), 0.02, SplitMix64(seed: seed))
        let viewer = Viewer()
        let call = Self.call(link, viewer)
        call.run(seconds: 40)
        let known = "\(viewer.changes)\n\(call.table)"
        #expect(viewer.choice.layer == .small && viewer.changes.allSatisfy { $0.second < 3 }, "\(known)")
        let all = viewer.smallPictures.count { $0 >= 3 && $0 < 39 }
        #expect(call.shown(from: 3.2, to: 39.2) * 100 >= all * 95, "\(all)\n\(known)")
        #expect(call.pauses(over: 200, from: 3) < 3, "\(call.longestPause(from: 3))\n\(known)")
        call.run(seconds: 40)
        #expect(viewer.choice.layer == .enhanced, "\(viewer.changes)\n\(call.table)")
    }

    /// The same for 40 ms, too, eight times: both copies of a picture are lost together four times in ten thousand, and nothing else holds
    /// pictures up for longer than 200 ms.
    @Test(arguments: [40.0, 80]) func aPoorLinkSeldomStandsStill(delay: Double) {
        var pauses = 0
        for seed in 1...8 as ClosedRange<UInt64> {
            var link = SimulatedLink { _ in 300_000 }
            (link.delay, link.loss, link.random) = (.milliseconds(delay), 0.02, SplitMix64(seed: seed))
            let viewer = Viewer()
            let call = Self.call(link, viewer)
            call.random = SplitMix64(seed: seed &+ 500)
            call.run(seconds: 40)
            pauses += call.pauses(over: 200, from: 3)
        }
        #expect(pauses < 6, "\(pauses) in 296 s")
    }

    /// 3 → 0.5 → 3 Mb/s beside a viewer whose link is good, without a smaller encode: pictures that the link does not carry do not fill its
    /// queue, and it shows without them when there is room again.
    @Test(arguments: 1...8 as ClosedRange<UInt64>) func aStaircaseBesideAnotherViewer(seed: UInt64) {
        var link = SimulatedLink { $0.seconds >= 15 && $0.seconds < 30 ? 500_000 : 3_000_000 }
        (link.random, link.jitter) = (SplitMix64(seed: seed), .milliseconds(2))
        let viewer = Viewer()
        viewer.needs = LayerChoice.Needs(input: 1_500_000, encoded: 2_500_000, floor: 300_000, ceiling: 4_000_000)
        viewer.ceiling = 4_000_000
        let call = Self.call(link, viewer)
        (call.random, call.encoderDelay) = (SplitMix64(seed: seed &+ 100), .milliseconds(100))
        call.run(seconds: 45)
        let known = "\(viewer.changes)\n\(call.table)"
        // Down at once; no pictures while it is poor; back soon, and for good.
        #expect(call.fell(below: 500_000, after: 15) < 1.5, "\(known)")
        #expect(viewer.changes.allSatisfy { $0.second < 16.5 || $0.second > 30 }, "\(known)")
        #expect(viewer.choice.layer == .enhanced && viewer.changes.last!.second < 37.5, "\(known)")
        #expect(call.delay(0.95, from: 1) < 150, "\(call.delay(0.95, from: 1)) ms\n\(known)")
        // The layers that it can have are the enhanced pictures, and sound.
        #expect(call.use(from: 3, to: 15) > 0.8 && call.use(from: 39) > 0.8, "\(known)")
    }
}
