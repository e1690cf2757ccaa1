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
        /// Tells the session whether the smaller encode leaves room.
        var mayBeSentTwice: (Bool) -> Void = { _ in }
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
                choice.observe(feedback.capacity.map { Double($0) }, needs, isAlone: false, at: now)
            }
            let hasChanged = choice.layer != before
            mayBeSentTwice(choice.layer == .small)
            if hasChanged { changes.append(((now - begin).seconds, choice.layer)) }
            switch choice.layer {
            case .enhanced: return .init(bitRate: 2_400_000, isKeyframe: hasChanged)
            case .sent: return .init(bitRate: 1_000_000, isKeyframe: hasChanged)
            case .sound: return .init()
            case .small: break
            }
            let sample = CallRate.Sample(RTPViewers.Report(id: 1, feedback: feedback))
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
        viewer.mayBeSentTwice = { [unowned call] in call.mayRepeatEarly = $0 }
        call.source = { viewer.picture($0, at: $1) }
        call.useful = UInt64(viewer.needs.useful(hasFloor: false, ceiling: 4_000_000)!)
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
        #expect(call.pauses(over: 200, from: 3) < 2, "\(call.longestPause(from: 3))\n\(known)")
        call.run(seconds: 40)
        #expect(viewer.choice.layer == .enhanced, "\(viewer.changes)\n\(call.table)")
    }
}
